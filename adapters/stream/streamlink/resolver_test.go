package streamlink_test

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	source "github.com/stream-monitor/stream-monitor/adapters/stream/youtube"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the tests start tools
)

var _ worker.Resolver = (*streamlink.Resolver)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var discardLog = slog.New(slog.DiscardHandler)

const master = "https://manifest.googlevideo.com/api/manifest/hls_variant/expire/1795000000/id/demux______/sig/AABBCC/file/index.m3u8"

// TestEveryOutputGivesItsState uses messages that streamlink 8.6.3 printed for a fake YouTube
// in the state that names the case.
func TestEveryOutputGivesItsState(t *testing.T) {
	const (
		host      = "https://manifest.googlevideo.com/"
		printed   = "streamlink printed no URL"
		unsigned  = host + "api/manifest/dash/sig/AABBCC"
		forbidden = host + "api/manifest/hls_variant/sig/AABBCC/file/index.m3u8"
		player    = "https://www.youtube.com/youtubei/v1/player"
		timedOut  = "(HTTPSConnectionPool(host='www.youtube.com', port=443): Read timed out. (read timeout=3.0))"
	)
	for name, c := range map[string]struct {
		exit           int
		stdout, stderr string
		state          watch.StreamState
		says           string // the manifest or the detail
	}{
		"a stream, live or ended, muxed or not":   {0, master + "\n", "", watch.ManifestFound, master},
		"an MPD":                                  {0, unsigned + "\n", "", watch.ManifestFound, unsigned},
		"upcoming, removed, private or bot check": {1, "error: No playable streams found on this URL: https://www.youtube.com/watch?v=upcoming___\n", "", watch.Unreachable, "No playable streams found on this URL: https://www.youtube.com/…"},
		"an ordinary video":                       {1, "error: This plugin does not support VOD content, try yt-dlp instead\n", "", watch.Unreachable, "This plugin does not support VOD content, try yt-dlp instead"},
		"a stream that is not HLS":                {1, "error: The stream specified cannot be translated to a URL\n", "", watch.Unreachable, "The stream specified cannot be translated to a URL"},
		"the manifest is refused": {
			1, "error: Unable to open URL: " + forbidden + " (403 Client Error: Forbidden for url: " + forbidden + ")\n", "", watch.Blocked,
			"YouTube refuses the requests of this address (HTTP 403): Unable to open URL: " + host + "… (403 Client Error: Forbidden for url: " + host + "…",
		},
		"the player is rate limited": {
			1, "error: Unable to open URL: " + player + " (429 Client Error: Too Many Requests for url: " + player + "?key=k)\n", "", watch.RateLimited,
			"YouTube limits the requests of this address (HTTP 429): Unable to open URL: https://www.youtube.com/… (429 Client Error: Too Many Requests for url: https://www.youtube.com/…",
		},
		"the player hangs": {
			1, "error: Unable to open URL: " + player + " " + timedOut + "\n", "", watch.Unreachable,
			"YouTube cannot be reached from here: www.youtube.com does not answer in time: Unable to open URL: https://www.youtube.com/… " + timedOut,
		},
		"a wrong option": {
			2, "", "usage: streamlink [OPTIONS] <URL> [STREAM]\nstreamlink: error: unrecognized arguments: --bogus-option=1\n", watch.ToolFailed,
			"streamlink is too old for the options it is given; update it (pip install -U streamlink): streamlink printed no URL: streamlink: error: unrecognized arguments: --bogus-option=1",
		},
		"a URL and a failure":    {1, master + "\n", "", watch.ToolFailed, printed + ": " + host + "…"},
		"two URLs":               {0, master + "\n" + master + "\n", "", watch.ToolFailed, printed + ": " + host + "…"},
		"a URL that is not http": {0, "file:///etc/passwd\n", "", watch.ToolFailed, printed + ": file:///etc/passwd"},
		"nothing":                {0, "", "", watch.ToolFailed, printed},
	} {
		t.Run(name, func(t *testing.T) {
			got := streamlink.Read(source.Site(stream.Choices{}), subprocess.Result{ExitCode: c.exit, Stdout: []byte(c.stdout), Stderr: []byte(c.stderr)})
			if got.State != c.state || got.Manifest+got.Detail != c.says || (got.Manifest != "") != (c.state == watch.ManifestFound) || len(got.Renditions) > 0 {
				t.Errorf("got %+v", got)
			}
			if want := time.Unix(1795000000, 0).UTC(); got.Manifest == master && !got.Expires.Equal(want) {
				t.Errorf("it expires at %v, want %v", got.Expires, want)
			}
		})
	}
}

func TestAMisbehavingToolNeverGivesAState(t *testing.T) {
	pythontooltest.Run(t, func(path string, timeout time.Duration, log *slog.Logger) pythontooltest.Resolver {
		return streamlink.New(streamlink.Config{Site: source.Site(stream.Choices{}), Path: path, Timeout: timeout}, log)
	})
}

// The proxy does not exist, so the result is the same on machines with and without a
// network.
func TestTheRealToolFailsCleanlyWithoutANetwork(t *testing.T) {
	pythontooltest.TestWithoutNetwork(t, realTool(t), watch.Unreachable, "No plugin can handle URL")
}

func TestAPageWithoutEndCostsOneQuestion(t *testing.T) {
	pythontooltest.PagesWithoutEnd(t, realTool(t), watch.ManifestFound)
}

// realTool returns a resolver of the installed streamlink, confined as in the product.
func realTool(t *testing.T) *streamlink.Resolver {
	t.Helper()
	path := pythontooltest.Find(t, "STREAMLINK_PATH", "streamlink")
	return streamlink.New(streamlink.Config{Site: source.Site(stream.Choices{}), Path: path, Files: []string{}, Timeout: time.Minute}, discardLog)
}

// TestTheRealToolFindsAManifestOfEveryPlayableVideo runs the installed streamlink for a video in
// every state. It finds a manifest for every video with media, live or not, and never
// answers for the state.
func TestTheRealToolFindsAManifestOfEveryPlayableVideo(t *testing.T) {
	y := pythontooltest.YouTube(t)
	resolver := realTool(t)
	for _, state := range youtube.States() {
		t.Run(string(state), func(t *testing.T) {
			y.Add(pythontooltest.URL.ID(), youtube.Video{State: state, Source: pythontooltest.Ladder})
			got := resolver.Resolve(t.Context(), pythontooltest.URL)
			if state == youtube.Live && (got.State != watch.ManifestFound || got.Source != "streamlink" || !strings.Contains(got.Manifest, "/hls_variant/")) {
				t.Errorf("got %+v", got)
			}
			if got.State.Known() || got.State == watch.ToolFailed && state != youtube.Ordinary && state != youtube.Archived {
				t.Errorf("got %s (%s)", got.State, got.Detail)
			}
		})
	}
}

func TestAListOfStreamsSaysWhatTheirMediaNeed(t *testing.T) {
	const one = `{"type":"hls","url":"https://a.test/720","master":"https://a.test/master","headers":{"User-Agent":"streamlink","Cookie":"s3cr3t=1","Accept":"*/*"}}`
	for name, c := range map[string]struct{ list, says string }{
		"a stream":           {`{"streams":{"worst":{"type":"hls-multi"},"720p":` + one + `}}`, "https://a.test/master map[cookie:s3cr3t=1 user-agent:streamlink]"},
		"no URL":             {`{"streams":{"best":{"type":"hls-multi"}}}`, "no stream has a URL of its own map[]"},
		"none":               {`{"error":"No playable streams found on this URL: https://a.test/x"}`, "No playable streams found on this URL: https://a.test/… map[]"},
		"a list of odd form": {`{"streams":["` + `s3cr3t` + `"]}`, "its list of streams cannot be read map[]"},
		"a list that is cut": {`{"streams":{"720p":{"headers":{"Cookie":"s3cr3t=1`, "its list of streams cannot be read map[]"},
	} {
		got := streamlink.Read(source.Site(stream.Choices{}), subprocess.Result{Stdout: []byte(c.list)})
		header := got.Header.For(&url.URL{Scheme: "https", Host: "a.test"})
		expect.Equal(t, name+" gives", got.Manifest+got.Detail+" "+fmt.Sprint(header), c.says)
	}
	y := pythontooltest.YouTube(t)
	y.Add(pythontooltest.URL.ID(), youtube.Video{State: youtube.Live, Source: pythontooltest.Ladder})
	site := source.Site(stream.Choices{})
	site.MediaHeaders = true
	path := pythontooltest.Find(t, "STREAMLINK_PATH", "streamlink")
	got := streamlink.New(streamlink.Config{Site: site, Path: path}, discardLog).Resolve(t.Context(), pythontooltest.URL)
	if u, _ := url.Parse(got.Manifest); got.State != watch.ManifestFound || !strings.Contains(got.Manifest, "/hls_variant/") || got.Header.For(u)["user-agent"] == "" {
		t.Errorf("the real tool gives %+v", got)
	}
}

// streamlink combines separate video and audio into one stream of two playlists
// ("hls-multi"). It must print the master, because one of the playlists alone has no
// video or no audio. The same holds without ffmpeg in PATH, where it drops the audio.
func TestTheRealToolFindsTheMasterOfSeparateVideoAndAudio(t *testing.T) {
	y := pythontooltest.YouTube(t)
	y.Add(pythontooltest.URL.ID(), youtube.Video{State: youtube.Live, Source: pythontooltest.SeparateTracks})
	path := pythontooltest.Find(t, "STREAMLINK_PATH", "streamlink")
	for _, where := range []string{os.Getenv("PATH"), filepath.Dir(path)} {
		t.Setenv("PATH", where)
		got := streamlink.New(streamlink.Config{Site: source.Site(stream.Choices{}), Path: path}, discardLog).Resolve(t.Context(), pythontooltest.URL)
		if got.State != watch.ManifestFound || !strings.Contains(got.Manifest, "/hls_variant/") {
			t.Errorf("with PATH %s: got %+v", where, got)
		}
	}
}

// FuzzRead checks that every output gives a valid Resolution. It never answers for the
// stream's state and has at most one URL. Its Detail is short and has no secret, and it
// can be stored as JSON.
func FuzzRead(f *testing.F) {
	f.Add([]byte(master), []byte(""), 0)
	f.Add([]byte("error: No playable streams found"), []byte(""), 1)
	f.Add([]byte(""), []byte("Traceback"), 1)
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, exit int) {
		got := streamlink.Read(source.Site(stream.Choices{}), subprocess.Result{ExitCode: exit, Stdout: stdout, Stderr: stderr})
		if got.State.Known() {
			t.Errorf("streamlink cannot know %s", got.State)
		}
		if (got.State == watch.ManifestFound) != (got.Manifest != "") {
			t.Errorf("%s with manifest %q", got.State, got.Manifest)
		}
		if len(got.Renditions) > 0 {
			t.Errorf("got %+v", got)
		}
		pythontooltest.CheckResolution(t, got, streamlink.MaxURL)
	})
}
