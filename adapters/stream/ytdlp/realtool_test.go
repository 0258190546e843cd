package ytdlp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream"
	source "github.com/stream-monitor/stream-monitor/adapters/stream/youtube"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// TestTheRealToolDistinguishesEveryState runs the installed yt-dlp, to notice a release with
// different messages.
func TestTheRealToolDistinguishesEveryState(t *testing.T) {
	newResolver := inForks(t)
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
			y.Add(pythontooltest.URL.ID(), youtube.Video{State: state, Source: pythontooltest.Ladder, Scheduled: at, Started: at})
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
					if want := pythontooltest.Ladder[i]; r.Height != want.Height || r.Bandwidth == 0 || !r.HasVideo || !r.HasAudio {
						t.Errorf("rendition %+v, want %+v", r, want)
					}
				}
			}
		})
	}
}

func TestTheRealToolReportsFailuresOfYouTube(t *testing.T) {
	newResolver := inForks(t)
	y := pythontooltest.YouTube(t)
	y.Add(pythontooltest.URL.ID(), youtube.Video{State: youtube.Live, Source: pythontooltest.Ladder})
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
			defer y.Inject(tc.class, tc.fault)()
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
}

// A release that lists formats differently is noticed: video and audio apart, the audio in two languages, captions as text.
func TestTheRealToolListsTheTracksOfAManifest(t *testing.T) {
	const master = `#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="g",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="en.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="g",NAME="Japanese",LANGUAGE="ja",DEFAULT=NO,AUTOSELECT=YES,URI="ja.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="text.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=290288,CODECS="avc1.4D401F,mp4a.40.2",RESOLUTION=256x144,AUDIO="g",SUBTITLES="s"
144p.m3u8
`
	inBothWays(t, func(t *testing.T, newResolver resolverMaker) {
		y := pythontooltest.YouTube(t)
		serve := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.apple.mpegurl")
			_, _ = io.WriteString(w, master)
		})
		y.Add(pythontooltest.URL.ID(), youtube.Video{State: youtube.Live, Origin: &youtube.Origin{HLS: "live.m3u8", Handler: serve}})
		got := newResolver(ytdlp.Config{}).Resolve(t.Context(), pythontooltest.URL)
		var tracks []watch.Rendition
		for _, r := range got.Renditions {
			tracks = append(tracks, watch.Rendition{URL: path.Base(r.URL), Height: r.Height, HasVideo: r.HasVideo, HasAudio: r.HasAudio, HasCaptions: r.HasCaptions, Alternate: r.Alternate})
		}
		if want := []watch.Rendition{
			{URL: "ja.m3u8", HasAudio: true, Alternate: true}, {URL: "en.m3u8", HasAudio: true}, {URL: "144p.m3u8", Height: 144, HasVideo: true},
			{URL: "text.m3u8", HasCaptions: true},
		}; !slices.Equal(tracks, want) || got.State != watch.Live || !strings.HasSuffix(got.Manifest, "/media/live.m3u8") || got.Detail != "" {
			t.Errorf("got %+v", got)
		}
	})
}

// start is the release_timestamp of every recording that has one.
var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// expectEqual compares two resolutions by the JSON that the watcher stores. It leaves out
// the words for people.
func expectEqual(t *testing.T, got, want watch.Resolution) {
	t.Helper()
	got.Title, got.Channel, got.ScheduledStart = "", "", time.Time{}
	expect.Equal(t, "got", stored(t, got), stored(t, want))
}

// stored returns the JSON of a resolution.
func stored(t *testing.T, r watch.Resolution) string {
	t.Helper()
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	must.Do(t, encoder.Encode(r))
	return b.String()
}

// recordedRun is the output of yt-dlp 2026.10.26 for a fake YouTube in the state that names the
// file. Its JSON is shortened to the fields that matter.
type recordedRun struct {
	name, id       string
	stdout, stderr []byte
	resolution     string // which it must give, as JSON
}

func recordedRuns(tb testing.TB) []recordedRun {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) < 40 {
		tb.Fatalf("%d recordings in testdata (%v)", len(paths), err)
	}
	var all []recordedRun
	for _, path := range paths {
		text := must.Get(os.ReadFile(path))(tb)
		head, rest, _ := bytes.Cut(text, []byte("-- stderr --\n"))
		stderr, rest, _ := bytes.Cut(rest, []byte("-- stdout --\n"))
		stdout, resolution, ok := bytes.Cut(rest, []byte("-- resolution --\n"))
		id, named := strings.CutPrefix(strings.TrimSpace(string(head)), "id ")
		if !ok || !named {
			tb.Fatalf("%s is not a recording", path)
		}
		all = append(all, recordedRun{strings.TrimSuffix(filepath.Base(path), ".txt"), id, stdout, stderr, string(resolution)})
	}
	return all
}

func TestEveryRecordedOutputGivesItsResolution(t *testing.T) {
	for _, r := range recordedRuns(t) {
		t.Run(r.name, func(t *testing.T) {
			expect.Equal(t, "got", stored(t, ytdlp.Read(r.id, r.stdout, r.stderr)), r.resolution)
		})
	}
}

// FuzzRead checks that every output gives a valid Resolution. Its state is known, its
// Detail is short and has no secret, and it can be stored as JSON. Only a live stream
// has URLs.
func FuzzRead(f *testing.F) {
	for _, r := range recordedRuns(f) {
		f.Add(r.stdout, r.stderr)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr []byte) {
		var head struct{ ID string }
		_ = json.Unmarshal(stdout, &head)
		got := ytdlp.Read(head.ID, stdout, stderr)
		switch got.State {
		case watch.Live, watch.Upcoming, watch.Offline, watch.Ended, watch.NotALiveStream, watch.Private, watch.Removed,
			watch.RegionLocked, watch.AgeRestricted, watch.MembersOnly, watch.Blocked, watch.RateLimited,
			watch.NameUnresolved, watch.ProxyFailed, watch.Unreachable, watch.ToolFailed:
		default:
			t.Errorf("state %q", got.State)
		}
		if got.State != watch.Live && (len(got.Renditions) > 0 || got.Manifest != "" || !got.Expires.IsZero()) {
			t.Errorf("%s with media", got.State)
		}
		if len(got.Renditions) > ytdlp.MaxRenditions {
			t.Errorf("%d renditions", len(got.Renditions))
		}
		pythontooltest.CheckResolution(t, got, ytdlp.MaxURL)
	})
}

func TestTheRealToolTakesTheChoicesOfAnOperator(t *testing.T) {
	y := pythontooltest.YouTube(t)
	y.Add(pythontooltest.URL.ID(), youtube.Video{State: youtube.Live, Source: pythontooltest.Ladder})
	path := pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")
	for name, c := range map[string]stream.Choices{
		"one client":                {PlayerClients: "visionos"},
		"all but one":               {PlayerClients: "default,-web"},
		"a server without a plugin": {POTokenURL: "http://127.0.0.1:4416"},
		"another runtime":           {JSRuntime: "quickjs:/nowhere/qjs"},
	} {
		t.Run(name, func(t *testing.T) {
			r := ytdlp.New(ytdlp.Config{Site: source.Site(c), Path: path, Files: []string{}, JSRuntime: c.JSRuntime}, discardLog)
			if got := r.Resolve(t.Context(), pythontooltest.URL); got.State != watch.Live || len(got.Renditions) == 0 {
				t.Errorf("got %s (%s)", got.State, got.Detail)
			}
		})
	}
}
