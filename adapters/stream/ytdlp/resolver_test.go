package ytdlp_test

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool/pythontooltest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ worker.Resolver = (*ytdlp.Resolver)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

func TestResolverSurvivesToolsThatMisbehave(t *testing.T) {
	pythontooltest.Run(t, func(path string, timeout time.Duration, log *slog.Logger) pythontooltest.Resolver {
		return ytdlp.New(ytdlp.Config{Path: path, Timeout: timeout}, log)
	})
}

func TestResolverReadsTheAnswerWhateverTheExitCode(t *testing.T) {
	for _, exit := range []string{"0", "1"} {
		path, _ := pythontooltest.Script(t, `
			echo 'WARNING: [youtube] This live event will begin in 5 minutes.' >&2
			echo '{"id":"abcdefghijk","live_status":"is_upcoming","release_timestamp":1795255200,"formats":[]}'
			exit `+exit)
		got := ytdlp.New(ytdlp.Config{Path: path}, quiet).Resolve(t.Context(), pythontooltest.URL)
		if got.State != watch.Upcoming || got.Source != "yt-dlp" {
			t.Errorf("exit %s: got %+v", exit, got)
		}
	}
}

func TestResolverHidesNoWarnings(t *testing.T) {
	path, _ := pythontooltest.Script(t, `echo "ERROR: $*" >&2`)
	got := ytdlp.New(ytdlp.Config{Path: path, SocketTimeout: 7 * time.Second}, quiet).Resolve(t.Context(), pythontooltest.URL)
	if strings.Contains(got.Detail, "warn") || strings.Contains(got.Detail, "quiet") ||
		!strings.Contains(got.Detail, "--ignore-config") || !strings.Contains(got.Detail, "--socket-timeout 7 ") {
		t.Errorf("was called with %s", got.Detail)
	}
}

// A live stream without HLS is asked about again, for its DASH: by itself yt-dlp
// does not list that.
func TestResolverAsksAgainForDASH(t *testing.T) {
	const (
		again  = `case "$*" in *formats=incomplete*) second;; *) first;; esac; echo run >>"$ids"`
		answer = `echo '{"id":"abcdefghijk","live_status":"is_live","formats":[%s]}'`
		dash   = `{"protocol":"http_dash_segments","manifest_url":"https://x.example/mpd"}`
		hls    = `{"protocol":"m3u8","url":"https://x.example/hls"}`
	)
	printed := func(formats string) string { return strings.Replace(answer, "%s", formats, 1) }
	for name, c := range map[string]struct {
		first, second string
		runs          int
		want          watch.Resolution
	}{
		"and it has some":              {printed(""), printed(dash), 2, watch.Resolution{State: watch.Live, Manifest: "https://x.example/mpd"}},
		"it has files, and has some":   {printed(`{"protocol":"https"}`), printed(dash), 2, watch.Resolution{State: watch.Live, Manifest: "https://x.example/mpd"}},
		"and it has none":              {printed(""), printed(""), 2, watch.Resolution{State: watch.Offline, Detail: "live by name, but YouTube lists no media"}},
		"and there is no answer":       {printed(""), "exit 1", 2, watch.Resolution{State: watch.Offline, Detail: "live by name, but YouTube lists no media"}},
		"and there is another answer":  {printed(""), `echo '{"id":"abcdefghijk","live_status":"was_live"}'`, 2, watch.Resolution{State: watch.Offline, Detail: "live by name, but YouTube lists no media"}},
		"not when there is HLS":        {printed(hls), printed(dash), 1, watch.Resolution{State: watch.Live, Renditions: []watch.Rendition{{URL: "https://x.example/hls", HasVideo: true, HasAudio: true}}}},
		"not when it is said why":      {printed("") + "; echo 'WARNING: [youtube] abcdefghijk: Offline.' >&2", printed(dash), 1, watch.Resolution{State: watch.Offline, Detail: "Offline."}},
		"not when YouTube was refused": {printed("") + "; echo 'WARNING: HTTP Error 429: Too Many Requests' >&2", printed(dash), 1, watch.Resolution{State: watch.Blocked, Detail: "YouTube limits the requests of this address (HTTP 429): HTTP Error 429: Too Many Requests"}},
		"not when it is not live":      {`echo '{"id":"abcdefghijk","live_status":"was_live"}'`, printed(dash), 1, watch.Resolution{State: watch.Ended}},
	} {
		t.Run(name, func(t *testing.T) {
			path, ids := pythontooltest.Script(t, "first() { "+c.first+"; }\nsecond() { "+c.second+"; }\n"+again)
			got := ytdlp.New(ytdlp.Config{Path: path}, quiet).Resolve(t.Context(), pythontooltest.URL)
			got.Source = ""
			same(t, got, c.want)
			if log, _ := os.ReadFile(ids); strings.Count(string(log), "run") != c.runs && c.second != "exit 1" {
				t.Errorf("%d runs, want %d", strings.Count(string(log), "run"), c.runs)
			}
		})
	}
	t.Run("both runs together have the time of one", func(t *testing.T) {
		path, _ := pythontooltest.Script(t, "first() { sleep 2; "+printed("")+"; }\nsecond() { exec sleep 60; }\n"+again)
		began := time.Now()
		got := ytdlp.New(ytdlp.Config{Path: path, Timeout: 4 * time.Second}, quiet).Resolve(t.Context(), pythontooltest.URL)
		if took := time.Since(began); took > 5500*time.Millisecond || got.State != watch.Offline {
			t.Errorf("took %v: %+v", took, got)
		}
	})
}

// The real tool, with a proxy that is not there, so that the outcome is the
// same on machines with and without a network.
func TestTheRealTool(t *testing.T) {
	path := pythontooltest.Find(t, "YTDLP_PATH", "yt-dlp")
	pythontooltest.NoNetwork(t)
	resolver := ytdlp.New(ytdlp.Config{Path: path}, quiet)

	t.Run("without a network YouTube is unreachable", func(t *testing.T) {
		got := resolver.Resolve(t.Context(), pythontooltest.URL)
		if got.State != watch.Unreachable || !strings.Contains(got.Detail, "proxy") {
			t.Errorf("got %s (%s)", got.State, got.Detail)
		}
	})
	t.Run("a URL is never taken for an option", func(t *testing.T) {
		for _, url := range []monitor.StreamURL{"--version", "-h", "--exec=true"} {
			got := resolver.Resolve(t.Context(), url)
			if got.State != watch.ToolFailed || !strings.Contains(got.Detail, "not a valid URL") {
				t.Errorf("%s: got %s (%s)", url, got.State, got.Detail)
			}
		}
	})
}
