package ytdlp_test

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream"
	"github.com/stream-monitor/stream-monitor/adapters/stream/youtube"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the tests start tools
)

var _ worker.Resolver = (*ytdlp.Resolver)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var discardLog = slog.New(slog.DiscardHandler)

func TestAMisbehavingToolNeverGivesAState(t *testing.T) {
	pythontooltest.Run(t, func(path string, timeout time.Duration, log *slog.Logger) pythontooltest.Resolver {
		return ytdlp.New(ytdlp.Config{Site: youtube.Site(stream.Choices{}), Path: path, Timeout: timeout}, log)
	})
}

func TestAMisbehavingForkNeverGivesAState(t *testing.T) {
	pythontooltest.Run(t, func(path string, timeout time.Duration, log *slog.Logger) pythontooltest.Resolver {
		if _, err := os.Stat(path); err == nil {
			path = pythonTool(t, `os.execv("`+path+`", ["tool", *args])`)
		}
		server := ytdlp.NewForkServer(path, nil, log)
		t.Cleanup(server.Close)
		_ = server.Check(t.Context()) // the time limits are shorter than the start
		return ytdlp.New(ytdlp.Config{Site: youtube.Site(stream.Choices{}), Path: path, Timeout: timeout, ForkServer: server}, log)
	})
}

func TestTheExitCodeIsIgnored(t *testing.T) {
	for _, exit := range []string{"0", "1"} {
		path, _ := pythontooltest.Script(t, `
			echo 'WARNING: [youtube] This live event will begin in 5 minutes.' >&2
			echo '{"id":"abcdefghijk","live_status":"is_upcoming","release_timestamp":1795255200,"formats":[]}'
			exit `+exit)
		got := ytdlp.New(ytdlp.Config{Site: youtube.Site(stream.Choices{}), Path: path}, discardLog).Resolve(t.Context(), pythontooltest.URL)
		if got.State != watch.Upcoming || got.Source != "yt-dlp" {
			t.Errorf("exit %s: got %+v", exit, got)
		}
	}
}

// Warnings are not hidden: they have the reasons. With machine code, deno would need more than
// MaxMemory to start.
func TestYtdlpIsCalledWithTheSettings(t *testing.T) {
	path, _ := pythontooltest.Script(t, `echo "ERROR: $*" >&2`)
	got := ytdlp.New(ytdlp.Config{Site: youtube.Site(stream.Choices{}), Path: path, SocketTimeout: 7 * time.Second}, discardLog).Resolve(t.Context(), pythontooltest.URL)
	expect.Text(t, "the detail", got.Detail, "--ignore-config", "--socket-timeout 7 ", "--extractor-args youtube-ejs:jitless=true ")
	if strings.Contains(got.Detail, "warn") || strings.Contains(got.Detail, "quiet") {
		t.Errorf("yt-dlp was called with %s", got.Detail)
	}
}

func TestYtdlpIsCalledWithTheChoicesOfAnOperator(t *testing.T) {
	for name, c := range map[string]struct {
		choices    stream.Choices
		says, none []string
	}{
		"none":          {stream.Choices{}, []string{"youtube-ejs:jitless=true"}, []string{"js-runtimes", "player_client", "base_url"}},
		"clients":       {stream.Choices{PlayerClients: "visionos,web"}, []string{"--extractor-args youtube:player_client=visionos,web "}, nil},
		"a PO provider": {stream.Choices{POTokenURL: "http://127.0.0.1:4416"}, []string{"--extractor-args youtubepot-bgutilhttp:base_url=http://"}, nil},
		"bun":           {stream.Choices{JSRuntime: "bun"}, []string{"--no-js-runtimes --js-runtimes bun ", "youtube-ejs:jitless=true"}, nil},
		"node":          {stream.Choices{JSRuntime: "node:/opt/node"}, []string{"--no-js-runtimes --js-runtimes node:/opt/node "}, []string{"jitless"}},
	} {
		t.Run(name, func(t *testing.T) {
			path, notes := pythontooltest.Script(t, `echo "$*" >>"$notes"; echo '{"id":"abcdefghijk","live_status":"is_live"}'`)
			ytdlp.New(ytdlp.Config{Site: youtube.Site(c.choices), Path: path, JSRuntime: c.choices.JSRuntime}, discardLog).Resolve(t.Context(), pythontooltest.URL)
			runs := strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile(notes))(t))), "\n")
			expect.Equal(t, "runs", len(runs), 2)
			for _, word := range c.none {
				if strings.Contains(runs[0], word) {
					t.Errorf("it was called with %s", runs[0])
				}
			}
			expect.Text(t, "the first run", runs[0], c.says...)
			second := runs[1][strings.LastIndex(runs[1], "--extractor-args youtube:"):] // the last one replaces the others
			want := "formats=incomplete"
			if c.choices.PlayerClients != "" {
				want += ";player_client=visionos,web"
			}
			expect.Text(t, "the second run", second, want+" ")
		})
	}
}

// By default yt-dlp does not list DASH of a live stream, so a second run asks for it.
func TestALiveStreamWithoutHLSIsResolvedAgainForDASH(t *testing.T) {
	const (
		again  = `case "$*" in *formats=incomplete*) second;; *) first;; esac; echo run >>"$notes"`
		answer = `echo '{"id":"abcdefghijk","live_status":"is_live","formats":[%s]}'`
		dash   = `{"protocol":"http_dash_segments","manifest_url":"https://x.example/mpd"}`
		hls    = `{"protocol":"m3u8","url":"https://x.example/hls"}`
	)
	offline := watch.Resolution{State: watch.Offline, Detail: "YouTube calls the stream live but lists no media"}
	printed := func(formats string) string { return strings.Replace(answer, "%s", formats, 1) }
	for name, c := range map[string]struct {
		first, second string
		runs          int
		want          watch.Resolution
	}{
		"it has DASH":                         {printed(""), printed(dash), 2, watch.Resolution{State: watch.Live, Manifest: "https://x.example/mpd"}},
		"it has files and DASH":               {printed(`{"protocol":"https"}`), printed(dash), 2, watch.Resolution{State: watch.Live, Manifest: "https://x.example/mpd"}},
		"it has no DASH":                      {printed(""), printed(""), 2, offline},
		"the second run fails":                {printed(""), "exit 1", 2, offline},
		"the second run has another state":    {printed(""), `echo '{"id":"abcdefghijk","live_status":"was_live"}'`, 2, offline},
		"HLS needs no second run":             {printed(hls), printed(dash), 1, watch.Resolution{State: watch.Live, Renditions: []watch.Rendition{{URL: "https://x.example/hls", HasVideo: true, HasAudio: true}}}},
		"a reason needs no second run":        {printed("") + "; echo 'WARNING: [youtube] abcdefghijk: Offline.' >&2", printed(dash), 1, watch.Resolution{State: watch.Offline, Detail: "Offline."}},
		"a refusal needs no second run":       {printed("") + "; echo 'WARNING: HTTP Error 429: Too Many Requests' >&2", printed(dash), 1, watch.Resolution{State: watch.RateLimited, Detail: "YouTube limits the requests of this address (HTTP 429): HTTP Error 429: Too Many Requests"}},
		"an ended stream needs no second run": {`echo '{"id":"abcdefghijk","live_status":"was_live"}'`, printed(dash), 1, watch.Resolution{State: watch.Ended}},
	} {
		t.Run(name, func(t *testing.T) {
			path, notes := pythontooltest.Script(t, "first() { "+c.first+"; }\nsecond() { "+c.second+"; }\n"+again)
			got := ytdlp.New(ytdlp.Config{Site: youtube.Site(stream.Choices{}), Path: path}, discardLog).Resolve(t.Context(), pythontooltest.URL)
			got.Source = ""
			expectEqual(t, got, c.want)
			if log, _ := os.ReadFile(notes); strings.Count(string(log), "run") != c.runs && c.second != "exit 1" {
				t.Errorf("%d runs, want %d", strings.Count(string(log), "run"), c.runs)
			}
		})
	}
	t.Run("both runs share one Timeout", func(t *testing.T) {
		path, _ := pythontooltest.Script(t, "first() { sleep 1; "+printed("")+"; }\nsecond() { exec sleep 60; }\n"+again)
		began := time.Now()
		got := ytdlp.New(ytdlp.Config{Site: youtube.Site(stream.Choices{}), Path: path, Timeout: 6 * time.Second}, discardLog).Resolve(t.Context(), pythontooltest.URL)
		if took := time.Since(began); took > 20*time.Second || got.State != watch.Offline {
			t.Errorf("took %v: %+v", took, got)
		}
	})
}

// The proxy does not exist, so the result is the same on machines with and without a
// network.
func TestTheRealToolFailsCleanlyWithoutANetwork(t *testing.T) {
	inBothWays(t, func(t *testing.T, newResolver resolverMaker) {
		pythontooltest.TestWithoutNetwork(t, newResolver(ytdlp.Config{Site: youtube.Site(stream.Choices{})}), watch.ToolFailed, "not a valid URL")
	})
}
