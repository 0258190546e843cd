package httpapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const (
	storedChannel = "0190a5d9-0000-7000-8000-000000000001"
	channelURL    = "/api/v1/channels/" + storedChannel
	newChannel    = `{"channel":"@example","callback_url":"https://example.com/hook","metadata":{"team":"a"},"cookie_jar":"members","config":{"preset":"talk"}}`
)

// listerFunc is a channels.Lister.
type listerFunc func() (channel.Listing, error)

// listChannel answers with a stream that is live, one that is for members, and one that starts next week.
func listChannel() (channel.Listing, error) {
	url := func(n int) monitor.StreamURL {
		return monitor.StreamURL(fmt.Sprintf("https://www.youtube.com/watch?v=%011d", n))
	}
	return channel.Listing{ID: "UCabcdefghijklmnopqrstuv", Handle: "@example", Title: "<b>星凪ルカ</b>", Streams: []channel.Stream{
		{URL: url(1), Title: "live", State: channel.Live}, {URL: url(2), Title: "members", State: channel.Live, MembersOnly: true},
		{URL: url(3), Title: "later", State: channel.Upcoming, ScheduledStart: now.Add(7 * 24 * time.Hour)},
	}}, nil
}

type apiLister struct{ api *testAPI }

// List implements channels.Lister.
func (l apiLister) List(context.Context, string) (channel.Listing, error) { return l.api.page() }

type unaudited struct{}

// Record implements monitors.Recorder.
func (unaudited) Record(ctx context.Context, _, _ string, do func(context.Context) (string, error)) error {
	_, err := do(ctx)
	return err
}

// newChannels makes a service whose first channel is storedChannel.
func newChannels(api *testAPI, service *monitors.Services) *channels.Service {
	discovery := channels.NewDiscovery(api.db, channels.DiscoveryConfig{
		Listers: map[monitor.SourceName][]channels.Lister{monitor.YouTube: {apiLister{api}}, monitor.Twitch: {apiLister{api}}}, Registrar: monitors.NewForChannels(service, unaudited{}),
		Now: func() time.Time { return now }, Jitter: func() float64 { return 0 }, Log: slog.New(slog.DiscardHandler),
	})
	made := 0
	return channels.NewService(&api.channels, discovery, func() string {
		made++
		return storedChannel[:len(storedChannel)-1] + fmt.Sprint(made)
	})
}

func registerChannel(api *testAPI) {
	api.post("/api/v1/channels", newChannel).hasStatus(http.StatusCreated)
}

// findStreams registers a channel, with the monitor as one of its streams.
func findStreams(api *testAPI, id monitor.ID) {
	registerChannel(api)
	api.patch(channelURL, `{"cookie_jar":null}`).hasStatus(http.StatusOK)
	c := must.Get(api.db.Channel(api.t.Context(), storedChannel))(api.t)
	l, _ := listChannel()
	c.Read(now, l, 0)
	c.Fail(now, channel.Failure{Kind: channel.Refused, Detail: "a page of consent"}, 0)
	m, _, err := api.db.Adopt(api.t.Context(), id, storedChannel)
	must.Do(api.t, err)
	var events []channel.Event
	for n, f := range c.Streams {
		if f.Title == "live" {
			c.Streams[n], events = channel.Candidate{Channel: c, Stream: f}.Registered(now, m, true)
		}
	}
	gap := channel.Event{Type: event.ChannelUnreadable, At: now, Gap: &channel.Gap{Since: now, Failure: channel.Refused}}
	must.Do(api.t, api.db.SaveLook(api.t.Context(), c, append(events, gap)))
	api.db.Exec(api.t, `UPDATE channel_events SET body = regexp_replace(body, '"event_id":"[^"]*"', '"event_id":"0190a5da-0000-7000-8000-000000000001"')`)
}

// channelCases are the responses of the routes of channels beyond those of operations.
func channelCases() []responseCase {
	register := request("POST", "/api/v1/channels", newChannel)
	running := func(api *testAPI) { findStreams(api, api.register("Q")) }
	return []responseCase{
		{"register a channel with wrong fields", 400, request("POST", "/api/v1/channels", `{"channel":"nonsense"}`)},
		{"batch of no channels", 400, request("POST", "/api/v1/channels/batch", `{"monitors":[]}`)},
		{"register a channel twice", 409, after(registerChannel, register)},
		{"channel that is no UUID", 404, request("GET", "/api/v1/channels/latest", "")},
		{"no channel", 404, request("GET", channelURL, "")},
		{"change of no channel", 404, request("PATCH", channelURL, `{}`)},
		{"change of a stopped channel", 409, after(func(api *testAPI) { registerChannel(api); api.delete(channelURL).hasStatus(http.StatusOK) }, request("PATCH", channelURL, `{}`))},
		{"stop of no channel", 404, request("DELETE", channelURL, "")},
		{"stop of a channel that runs", 409, after(running, request("DELETE", channelURL, ""))},
		{"stop of a channel in another way", 400, request("DELETE", channelURL+"?running=maybe", "")},
		{"page of no channels", 400, request("GET", "/api/v1/channels?limit=0", "")},
		{"no events of a channel", 400, after(registerChannel, request("GET", channelURL+"/events?limit=0", ""))},
		{"events of no channel", 404, request("GET", channelURL+"/events", "")},
	}
}

func TestAChannelIsAnsweredWithWhatWasFound(t *testing.T) { // section 20
	api := newTestAPI(t)
	id := api.register("Q")
	findStreams(api, id)
	body := api.get(channelURL).hasStatus(http.StatusOK).json()
	found := map[string]string{}
	for _, s := range body["streams"].([]any) {
		f := s.(map[string]any)
		found[f["title"].(string)] = fmt.Sprint(f["standing"], " ", f["why"], " ", f["monitor_id"])
	}
	for title, want := range map[string]string{"live": "watched <nil> " + string(id), "members": "skipped members_only <nil>", "later": "pending beyond_horizon <nil>"} {
		if found[title] != want {
			t.Errorf("%s is %s, want %s", title, found[title], want)
		}
	}
	if got := fmt.Sprint(body["counts"]); got != "map[no_room:0 over:0 pending:1 skipped:1 wanted:0 watched:1]" {
		t.Errorf("the counts are %s", got)
	}
	listed := api.list("/api/v1/channels", "channels")[0].(map[string]any)
	if fmt.Sprint(listed["counts"]) != fmt.Sprint(body["counts"]) || listed["streams"] != nil || listed["title"] != "<b>星凪ルカ</b>" {
		t.Errorf("listed is %v", listed)
	}
	if got := api.get("/api/v1/monitors/" + string(id)).json()["channel_id"]; got != storedChannel {
		t.Errorf("the channel of the monitor is %v", got)
	}
	if got := api.list("/api/v1/monitors", "monitors")[0].(map[string]any)["channel_id"]; got != storedChannel {
		t.Errorf("the channel in the list of monitors is %v", got)
	}
	if strings.Contains(string(api.get(channelURL).body), "example.com/hook") {
		t.Error("the answer has the callback")
	}
	if events := api.list(channelURL+"/events", "events"); len(events) != 2 {
		t.Errorf("it has the events %v", events)
	}
}

func TestARefusedChannelIsToldWhatIsAccepted(t *testing.T) { // section 20
	api := newTestAPI(t)
	for body, want := range map[string][]string{
		`{}`: {"channel: is missing", "callback_url: is missing"},
		`{"channel":"https://www.youtube.com/watch?v=dQw4w9WgXcQ","callback_url":"https://example.com/"}`: {"is a stream", "/api/v1/monitors"},
		`{"channel":"@example","callback_url":"https://example.com/","config":{"scheduled_start_time":"2034-01-15T21:00:00+09:00","check_interval_sec":0},"metadata":[],"jar":1}`: {
			"config.scheduled_start_time is given", "config.check_interval_sec is 0", "metadata: is not an object", `"jar" is not a field`,
		},
	} {
		a := api.post("/api/v1/channels", body)
		a.hasStatus(http.StatusBadRequest)
		for _, text := range want {
			if !strings.Contains(string(a.body), strings.ReplaceAll(text, `"`, `\"`)) {
				t.Errorf("%s answers %s, without %q", body, a.body, text)
			}
		}
	}
	api.policy = monitor.Errorf(monitor.InvalidURL, "leads to a private address")
	api.post("/api/v1/channels", newChannel).hasError(http.StatusBadRequest, monitor.InvalidURL, "private address")
}

func TestManyChannelsAreRegisteredFromCSV(t *testing.T) { // section 20.1
	api := newTestAPI(t)
	const file = "channel,callback_url,preset,cookie_jar,metadata.team,labels.show\r\n" +
		"twitch.tv/One,https://example.com/hook,,,,\r\n" +
		"@one,https://example.com/hook,talk,members,night,朝\r\nnonsense,,,,,\r\nhttps://www.youtube.com/@One,https://example.com/hook,,,,\r\n"
	send := func(path string) string {
		r := newRequest("POST", path, strings.NewReader(file))
		r.Header.Set("Content-Type", "text/csv")
		got := api.do(r).hasStatus(http.StatusOK).json()
		said := fmt.Sprint(got["registered"], " ", got["refused"])
		for _, result := range got["results"].([]any) {
			r := result.(map[string]any)
			said += fmt.Sprint("; ", r["index"], " ", r["channel"], " ", r["channel_id"] != nil)
			if refused, is := r["error"].(map[string]any); is {
				said += fmt.Sprint(" ", refused["code"])
			}
		}
		return said
	}
	const refused = "; 2 nonsense false INVALID_URL; 3 https://www.youtube.com/@One false DUPLICATE_CHANNEL"
	if got := send("/api/v1/channels/batch?dry_run=true"); got != "2 2; 0 https://www.twitch.tv/one false; 1 https://www.youtube.com/@one false"+refused {
		t.Errorf("the dry run says %s", got)
	}
	if listed := api.list("/api/v1/channels", "channels"); len(listed) != 0 {
		t.Errorf("the dry run has stored %v", listed)
	}
	if got := send("/api/v1/channels/batch"); got != "2 2; 0 https://www.twitch.tv/one true; 1 https://www.youtube.com/@one true"+refused {
		t.Errorf("it says %s", got)
	}
	c := api.list("/api/v1/channels", "channels")[0].(map[string]any)
	if c["cookie_jar"] != "members" || fmt.Sprint(c["metadata"]) != "map[team:night]" || fmt.Sprint(c["labels"]) != "map[show:朝]" || c["config"].(map[string]any)["preset"] != "talk" {
		t.Errorf("registered is %v", c)
	}
	_, changed := api.postBatch("/api/v1/channels/batch?dry_run=true&update=true", "text/csv", file)
	expect.Equal(t, "of channels that are registered already, those that a dry run would change", fmt.Sprint(changed.Registered, changed.Changed, changed.Refused), "0 0 1")
	const corrected = "channel,callback_url,cookie_jar,labels.show\r\n@one,https://example.com/other,null,夜\r\n"
	for _, parameters := range []string{"?update=true&dry_run=true", "?update=true"} {
		_, changed = api.postBatch("/api/v1/channels/batch"+parameters, "text/csv", corrected)
		expect.Equal(t, "what is changed with "+parameters, fmt.Sprint(changed.Results[0].Changed), "[callback_url labels.show 朝 → 夜 cookie_jar members → none]")
	}
	if problems := api.post("/api/v1/channels/preview", `{"channel":"@one"}`).hasStatus(http.StatusOK).json()["problems"]; !strings.Contains(fmt.Sprint(problems), "DUPLICATE_CHANNEL") {
		t.Errorf("a preview of a registered channel has the problems %v", problems)
	}
}

func TestAPreviewOfAChannelSaysWhatWillBeWatched(t *testing.T) { // section 20
	api := newTestAPI(t)
	body := api.post("/api/v1/channels/preview", `{"channel":"https://www.youtube.com/@Example/videos"}`).hasStatus(http.StatusOK).json()
	if body["channel_url"] != "https://www.youtube.com/@example" || body["title"] != "<b>星凪ルカ</b>" || len(body["streams"].([]any)) != 3 || len(body["problems"].([]any)) != 0 {
		t.Errorf("%v", body)
	}
	api.page = func() (channel.Listing, error) {
		return channel.Listing{}, &channel.Failure{Kind: channel.NotFound, Detail: "404"}
	}
	body = api.post("/api/v1/channels/preview", newChannel).hasStatus(http.StatusOK).json()
	if body["failure"] != "not_found" || body["detail"] != "404" {
		t.Errorf("%v", body)
	}
	body = api.post("/api/v1/channels/preview", `{"channel":"nonsense","metadata":[]}`).hasStatus(http.StatusOK).json()
	if body["channel_url"] != nil || len(body["problems"].([]any)) != 2 {
		t.Errorf("%v", body)
	}
}
