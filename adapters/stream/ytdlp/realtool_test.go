package ytdlp_test

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

// TestTheRealToolDistinguishesEveryState runs the installed yt-dlp, to notice a release with
// different messages.
func TestTheRealToolDistinguishesEveryState(t *testing.T) {
	inBothWays(t, func(t *testing.T, newResolver resolverMaker) {
		y := pythontooltest.YouTube(t)
		resolver := newResolver(ytdlp.Config{})
		wants := map[youtube.State]watch.StreamState{
			youtube.Upcoming:    watch.Upcoming,
			youtube.Premiere:    watch.Upcoming,
			youtube.Live:        watch.Live,
			youtube.Offline:     watch.Offline,
			youtube.Ended:       watch.Ended,
			youtube.PostLive:    watch.Ended,
			youtube.Archived:    watch.Ended,
			youtube.NoRecording: watch.Ended,
			youtube.Ordinary:    watch.NotALiveStream,
			youtube.Private:     watch.Private,
			youtube.Removed:     watch.Removed,
			youtube.Unavailable: watch.Removed,
			youtube.Region:      watch.RegionLocked,
			youtube.Age:         watch.AgeRestricted,
			youtube.Members:     watch.MembersOnly,
			youtube.BotCheck:    watch.Blocked,
			youtube.RateLimited: watch.RateLimited,
			youtube.Captcha:     watch.Blocked,
		}
		at := time.Now().Add(-time.Minute).Truncate(time.Second)
		for _, state := range youtube.States() {
			t.Run(string(state), func(t *testing.T) {
				y.Add(pythontooltest.URL.VideoID(), youtube.Video{State: state, Source: pythontooltest.Ladder{}, Scheduled: at, Started: at})
				got := resolver.Resolve(t.Context(), pythontooltest.URL)
				if got.State != wants[state] {
					t.Fatalf("got %s (%s), want %s", got.State, got.Detail, wants[state])
				}
				switch state {
				case youtube.Upcoming, youtube.Premiere:
					if !got.ActualStart.IsZero() {
						t.Errorf("started at %v, before it was live", got.ActualStart)
					}
				case youtube.Live:
					if !got.ActualStart.Equal(at) || len(got.Renditions) != 2 || !strings.Contains(got.Manifest, "/hls_variant/") {
						t.Errorf("got %+v", got)
					}
					if left := time.Until(got.Expires); left < 5*time.Hour || left > 6*time.Hour {
						t.Errorf("its URLs expire in %s, want nearly 6 h", left)
					}
					for i, r := range got.Renditions {
						if want := (pythontooltest.Ladder{}).Renditions()[i]; r.Height != want.Height || r.Bandwidth == 0 || !r.HasVideo || !r.HasAudio {
							t.Errorf("rendition %+v, want %+v", r, want)
						}
					}
				}
			})
		}
	})
}

func TestTheRealToolListsSeparateVideoAndAudio(t *testing.T) {
	inBothWays(t, func(t *testing.T, newResolver resolverMaker) {
		y := pythontooltest.YouTube(t)
		y.Add(pythontooltest.URL.VideoID(), youtube.Video{State: youtube.Live, Source: pythontooltest.SeparateTracks{}})
		got := newResolver(ytdlp.Config{}).Resolve(t.Context(), pythontooltest.URL)
		if len(got.Renditions) != 2 {
			t.Fatalf("got %+v", got)
		}
		audio, video := got.Renditions[0], got.Renditions[1]
		if audio.HasVideo || !audio.HasAudio || audio.Alternate || !video.HasVideo || video.HasAudio || video.Height != 144 {
			t.Errorf("got %+v", got.Renditions)
		}
	})
}

func TestTheRealToolReportsFailuresOfYouTube(t *testing.T) {
	inBothWays(t, func(t *testing.T, newResolver resolverMaker) {
		for name, tc := range map[string]struct {
			class youtube.Class
			fault httpfault.Fault
			want  watch.StreamState
		}{
			"everything answers 429":        {"", httpfault.Status(429), watch.RateLimited},
			"everything answers 503":        {"", httpfault.Status(503), watch.Unreachable},
			"connections are reset":         {"", httpfault.Reset(), watch.ProxyFailed},
			"everything hangs":              {"", httpfault.Hang(), watch.Unreachable},
			"the manifest answers 403":      {youtube.Manifest, httpfault.Status(403), watch.Blocked},
			"the player API answers 429":    {youtube.Player, httpfault.Status(429), watch.Live},
			"a watch page that answers 429": {youtube.Watch, httpfault.Status(429), watch.Live},
			"everything answers 403":        {"", httpfault.Status(403), watch.Blocked},
			"the player API answers 500":    {youtube.Player, httpfault.Status(500), watch.Live},
			"the watch page is cut off":     {youtube.Watch, httpfault.Truncate(), watch.Live},
			"the manifest answers 404":      {youtube.Manifest, httpfault.Status(404), watch.Unreachable},
		} {
			t.Run(name, func(t *testing.T) {
				y := pythontooltest.YouTube(t)
				y.Add(pythontooltest.URL.VideoID(), youtube.Video{State: youtube.Live, Source: pythontooltest.Ladder{}})
				y.Inject(tc.class, "", 0, tc.fault)
				config := ytdlp.Config{Timeout: time.Minute}
				if name == "everything hangs" {
					config.SocketTimeout = time.Second
				}
				resolver := newResolver(config)
				if got := resolver.Resolve(t.Context(), pythontooltest.URL); got.State != tc.want {
					t.Errorf("got %s (%s), want %s", got.State, got.Detail, tc.want)
				}
			})
		}
	})
}

// A manifest of each format, with separate audio, in HLS in two languages.
const (
	master = `#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="g",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="en.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="g",NAME="Japanese",LANGUAGE="ja",DEFAULT=NO,AUTOSELECT=YES,URI="ja.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=290288,CODECS="avc1.4D401F,mp4a.40.2",RESOLUTION=256x144,AUDIO="g"
144p.m3u8
`
	mpd = `<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" minimumUpdatePeriod="PT5S" availabilityStartTime="2026-11-21T12:00:00Z" profiles="urn:mpeg:dash:profile:isoff-live:2011"><Period start="PT0S">
<AdaptationSet mimeType="audio/mp4" lang="en"><SegmentTemplate media="a$Number$.m4s" initialization="a.mp4" startNumber="1"><SegmentTimeline><S t="0" d="5" r="5"/></SegmentTimeline></SegmentTemplate><Representation id="a" codecs="mp4a.40.2" bandwidth="144000"/></AdaptationSet>
<AdaptationSet mimeType="video/mp4"><SegmentTemplate media="v$Number$.m4s" initialization="v.mp4" startNumber="1"><SegmentTimeline><S t="0" d="5" r="5"/></SegmentTimeline></SegmentTemplate><Representation id="v" codecs="avc1.42c00b" width="256" height="144" bandwidth="212000"/></AdaptationSet>
</Period></MPD>`
)

// The installed yt-dlp reads the manifests of a live stream, to notice a release that lists formats
// differently. If YouTube has it in DASH only, the first run lists none of it.
func TestTheRealToolReadsManifests(t *testing.T) {
	y := pythontooltest.YouTube(t)
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, text := "application/vnd.apple.mpegurl", master
		if strings.HasSuffix(r.URL.Path, "live.mpd") {
			kind, text = "application/dash+xml", mpd
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(text))
	})
	resolver := ytdlp.New(ytdlp.Config{Path: pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")}, discardLog)
	for want, origin := range map[string]youtube.Origin{
		"/media/live.m3u8: ja.m3u8 !, en.m3u8, 144p.m3u8 144": {HLS: "live.m3u8"},
		"/media/live.mpd: ": {DASH: "live.mpd"},
	} {
		origin.Handler = serve
		y.Add(pythontooltest.URL.VideoID(), youtube.Video{State: youtube.Live, Origin: &origin})
		got := resolver.Resolve(t.Context(), pythontooltest.URL)
		var renditions []string
		for _, r := range got.Renditions {
			text := path.Base(r.URL)
			if r.Alternate {
				text += " !"
			}
			if r.HasVideo {
				text += fmt.Sprint(" ", r.Height)
			}
			renditions = append(renditions, text)
		}
		manifest := strings.TrimPrefix(got.Manifest, got.Manifest[:max(0, strings.Index(got.Manifest, "/media/"))])
		if all := manifest + ": " + strings.Join(renditions, ", "); got.State != watch.Live || all != want || got.Detail != "" || got.ActualStart.IsZero() {
			t.Errorf("got %s of %+v, want %s", all, got, want)
		}
	}
}
