package acceptance_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/twitcasting"
	"github.com/stream-monitor/stream-monitor/test/fake/twitch"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// TestTheStreamsOfAChannelAreWatched registers a channel once, with the real yt-dlp for what its page does not say. A reference
// that is uploaded for the channel is looked for in a stream that is watched already, until it is removed (section 17.6).
func TestTheStreamsOfAChannelAreWatched(t *testing.T) { // chapter 20
	runTimeline(t, 2)
	env := startConfigured(t, func(*testenv.Env) []string {
		return []string{"EVIDENCE_CAPTURE=off", "YTDLP_PATH=" + toolPath(t, "yt-dlp"), "STREAMLINK_PATH=" + writeScript(t, "exit 1")}
	})
	const handle = "@watchedchannel"
	id := "UC" + strings.Repeat("w", 22)
	env.YouTube.AddChannel(id, youtube.Channel{Handle: handle, Title: "星凪ルカ"})
	start := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	videos := map[string]string{} // by title
	add := func(title string, v youtube.Video) {
		videos[title] = newVideoID()
		v.Title, v.Channel = title, id
		env.YouTube.Add(videos[title], v)
	}
	add("soon", youtube.Video{State: youtube.Upcoming, Scheduled: start})
	add("far", youtube.Video{State: youtube.Upcoming, Scheduled: start.Add(100 * time.Hour)})
	add("members", youtube.Video{State: youtube.Live, MembersOnly: true})
	add("over", youtube.Video{State: youtube.Ended})
	live := newVideoID()
	stream, err := env.StartStream(t.Context(), live, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	env.YouTube.Add(live, youtube.Video{State: youtube.Live, Title: "live", Channel: id, Source: stream})
	videos["live"] = live

	preview := callOK(t, env.Service, http.MethodPost, "/api/v1/channels/preview", map[string]any{"channel": "https://m.youtube.com/" + handle + "/videos"})
	if preview["title"] != "星凪ルカ" || preview["source_id"] != id || preview["failure"] != nil {
		t.Fatalf("the preview is %v", preview)
	}
	config := fastConfig()
	config["detectors"] = map[string]any{"slate": map[string]any{"threshold_sec": 4}}
	channel := create(t, env.Service, "/api/v1/channels", "channel_id", map[string]any{"channel": handle, "callback_url": env.Receiver.URL(), "config": config, "metadata": map[string]any{"team": "a"}})
	standings := func() string {
		var all []string
		for _, s := range callOK(t, env.Service, http.MethodGet, "/api/v1/channels/"+channel, nil)["streams"].([]any) {
			f := s.(map[string]any)
			all = append(all, strings.TrimSuffix(fmt.Sprint(f["title"], " ", f["standing"], " ", f["why"]), " <nil>"))
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	const want = "far pending beyond_horizon, live watched, members skipped members_only, soon watched"
	// On a busy machine yt-dlp may take longer about a stream than a reading waits; it is asked again after a minute, and after two more.
	eventually(t, 4*time.Minute, "what was found has its standings", func() bool { return standings() == want })
	t.Log(standings())
	watched := ""
	for _, m := range callOK(t, env.Service, http.MethodGet, "/api/v1/monitors?q=team", nil)["monitors"].([]any) {
		f := m.(map[string]any)
		metadata := f["metadata"].(map[string]any)
		if f["channel_id"] != channel || metadata["channel_name"] != "星凪ルカ" || metadata["team"] != "a" {
			t.Errorf("the monitor is %v", f)
		}
		if at, err := time.Parse(time.RFC3339, fmt.Sprint(f["scheduled_start_time"])); metadata["stream_title"] == "soon" && (err != nil || !at.Equal(start)) {
			t.Errorf("it starts at %v, want %v", f["scheduled_start_time"], start)
		}
		if metadata["stream_title"] == "live" {
			watched = fmt.Sprint(f["monitor_id"])
		}
	}
	eventually(t, time.Minute, "the programme is seen", func() bool { return env.Analysed(t, watched) >= 2 })
	reference := env.UploadBars(t, "/api/v1/channels/"+channel)
	before := env.Analysed(t, watched)
	eventually(t, time.Minute, "a picture is seen that is not the reference, so the programme has begun", func() bool { return env.Analysed(t, watched) >= before+3 }) // section 17.6
	stream.Bars(true)
	if alert := env.WaitEvent(t, watched, "alert.slate", time.Minute); alert.Data.Reference != "Bars" {
		t.Errorf("the alert names the reference %q", alert.Data.Reference)
	}
	callOK(t, env.Service, http.MethodDelete, "/api/v1/channels/"+channel+"/references/"+reference, nil)
	env.WaitEvent(t, watched, "alert.slate_recovered", time.Minute) // the bars go on
	stopped := callOK(t, env.Service, http.MethodDelete, "/api/v1/channels/"+channel+"?running=stop", nil)
	if stopped["counts"].(map[string]any)["watched"] != 0. {
		t.Errorf("after the stop %v are watched", stopped["counts"])
	}
}

// TestAChannelWhosePagesAreRefusedIsListedByTheOfficialAPI has a key, and an address to which YouTube shows no page of a channel.
func TestAChannelWhosePagesAreRefusedIsListedByTheOfficialAPI(t *testing.T) { // section 20.2
	runTimeline(t, 1)
	env := startConfigured(t, func(*testenv.Env) []string {
		return []string{"EVIDENCE_CAPTURE=off", "YTDLP_PATH=" + toolPath(t, "yt-dlp"), "STREAMLINK_PATH=" + writeScript(t, "exit 1"), "YOUTUBE_API_KEY=" + youtube.APIKey}
	})
	id := "UC" + strings.Repeat("u", 22)
	env.YouTube.AddChannel(id, youtube.Channel{Handle: "@refusedchannel"})
	for title, v := range map[string]youtube.Video{
		"soon": {State: youtube.Upcoming, Scheduled: time.Now().Add(2 * time.Hour)}, "members": {State: youtube.Live, MembersOnly: true}, "over": {State: youtube.Ended},
	} {
		v.Title, v.Channel = title, id
		env.YouTube.Add(newVideoID(), v)
	}
	for _, class := range []youtube.Class{youtube.Browse, youtube.Page} {
		defer env.YouTube.Inject(class, httpfault.Status(http.StatusForbidden))()
	}
	channel := create(t, env.Service, "/api/v1/channels", "channel_id", map[string]any{"channel": "@refusedchannel", "callback_url": env.Receiver.URL()})
	var shown map[string]any
	eventually(t, time.Minute, "the channel was read", func() bool {
		shown = callOK(t, env.Service, http.MethodGet, "/api/v1/channels/"+channel, nil)
		return shown["reading"].(map[string]any)["by"] == "data-api" && shown["counts"].(map[string]any)["watched"] == 1.
	})
	streams := shown["streams"].([]any)
	if len(streams) != 1 || streams[0].(map[string]any)["title"] != "soon" || shown["source_id"] != id {
		t.Errorf("the channel is %v", shown)
	}
	if env.YouTube.Count(youtube.Browse, "") == 0 || env.YouTube.Count(youtube.Page, "") == 0 {
		t.Error("the API was asked before YouTube's pages and yt-dlp")
	}
	if used := callOK(t, env.Service, http.MethodGet, "/api/v1/service", nil)["youtube_api"].(map[string]any)["units_used"]; used != 3. {
		t.Errorf("%v units are counted", used)
	}
}

// TestEachBroadcastOfAPlaceIsWatched registers a place as a channel, with the real tools. Two broadcasts follow each other, each of
// which gets a monitor of its own.
func TestEachBroadcastOfAPlaceIsWatched(t *testing.T) { // section 20.3
	t.Parallel()
	env := startConfigured(t, func(*testenv.Env) []string {
		return []string{"EVIDENCE_CAPTURE=off", "YTDLP_PATH=" + toolPath(t, "yt-dlp"), "STREAMLINK_PATH=" + toolPath(t, "streamlink")}
	})
	tw, tc := twitch.New(env.YouTube), twitcasting.New(env.YouTube)
	const login, user = "watched_place", "c:watched"
	tw.Set(login, twitch.NotLive)
	tc.Set(user, twitcasting.NotLive)
	for name, place := range map[string]struct {
		given, url, by string
		broadcast      func(*livestream.Stream) (id string)
		over           func()
	}{
		"Twitch":      {"m.twitch.tv/Watched_Place", twitch.URL(login), "yt-dlp", func(s *livestream.Stream) string { return tw.Broadcast(login, s) }, func() { tw.Set(login, twitch.NotLive) }},
		"TwitCasting": {twitcasting.URL(user), twitcasting.URL(user), "streamserver", func(s *livestream.Stream) string { return tc.Broadcast(user, s) }, func() { tc.Set(user, twitcasting.NotLive) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := map[string]any{"channel": place.given, "callback_url": env.Receiver.URL(), "config": fastConfig()}
			var preview map[string]any
			eventually(t, 30*time.Second, "a preview has an answer of the tools", func() bool { // one may take longer than a preview waits while all begin
				preview = callOK(t, env.Service, http.MethodPost, "/api/v1/channels/preview", body)
				return preview["failure"] == nil
			})
			if preview["channel_url"] != place.url || len(preview["streams"].([]any)) != 0 {
				t.Fatalf("the preview is %v", preview)
			}
			channel := create(t, env.Service, "/api/v1/channels", "channel_id", body)
			var shown map[string]any
			monitors := map[string]string{} // by broadcast
			standings := func() string {
				shown = callOK(t, env.Service, http.MethodGet, "/api/v1/channels/"+channel, nil)
				var all []string
				for _, s := range shown["streams"].([]any) {
					f := s.(map[string]any)
					if f["stream_url"] != place.url {
						t.Errorf("a stream has the URL %v", f["stream_url"])
					}
					monitors[fmt.Sprint(f["broadcast_id"])] = fmt.Sprint(f["monitor_id"])
					all = append(all, fmt.Sprint(f["broadcast_id"], " ", f["standing"]))
				}
				slices.Sort(all)
				return strings.Join(all, ", ")
			}
			readNow := func() {
				callOK(t, env.Service, http.MethodPatch, "/api/v1/channels/"+channel, map[string]any{"metadata": map[string]any{"team": "a"}})
			}
			failures := 0.
			// readWith waits for a reading, and has one that fails repeated: on a busy machine a tool may take longer than a reading waits.
			readWith := func(what string, holds func() bool) {
				t.Helper()
				eventually(t, time.Minute, what, func() bool {
					if holds() {
						return true
					}
					if n := shown["reading"].(map[string]any)["failures"].(float64); n != failures {
						failures = n
						readNow()
					}
					return false
				})
			}
			readWith("the place was read", func() bool { _ = standings(); return shown["reading"].(map[string]any)["by"] == place.by })
			expectStandings := func(want string) {
				t.Helper()
				readNow()
				readWith(want, func() bool { return standings() == want })
			}
			begin := func() (*livestream.Stream, string) {
				stream := must.Get(env.Library.Start(t.Context(), livestream.Config{Packaging: livestream.Packaging{ProgramTime: livestream.DateTimePerSegment}}))(t)
				return stream, place.broadcast(stream)
			}
			_, first := begin()
			expectStandings(first + " watched")
			env.WaitEvent(t, monitors[first], scenario.Started, scenario.StartTimeout)
			stream, second := begin()
			env.WaitEvent(t, monitors[first], scenario.Ended, 3*time.Minute)
			expectStandings(first + " over, " + second + " watched")
			env.WaitEvent(t, monitors[second], scenario.Started, scenario.StartTimeout)
			stream.End()
			place.over()
			env.WaitEvent(t, monitors[second], scenario.Ended, 3*time.Minute)
			expectStandings(first + " over, " + second + " over")
			env.AssertEvents(t, monitors[first], scenario.Started, scenario.Ended)
			env.AssertEvents(t, monitors[second], scenario.Started, scenario.Ended)
			if found := callOK(t, env.Service, http.MethodGet, "/api/v1/channels/"+channel+"/events", nil)["events"].([]any); len(found) != 2 {
				t.Errorf("the events of the channel are %v", found)
			}
			callOK(t, env.Service, http.MethodDelete, "/api/v1/channels/"+channel, nil)
		})
	}
}
