package ytdlp_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pytool/pytooltest"
	"github.com/stream-monitor/stream-monitor/adapters/ytdlp"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ worker.Resolver = (*ytdlp.Resolver)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

func TestResolverSurvivesToolsThatMisbehave(t *testing.T) {
	pytooltest.Run(t, func(path string, timeout time.Duration, log *slog.Logger) pytooltest.Resolver {
		return ytdlp.New(ytdlp.Config{Path: path, Timeout: timeout}, log)
	})
}

func TestResolverReadsTheAnswerWhateverTheExitCode(t *testing.T) {
	for _, exit := range []string{"0", "1"} {
		path, _ := pytooltest.Script(t, `
			echo 'WARNING: [youtube] This live event will begin in 5 minutes.' >&2
			echo '{"id":"abcdefghijk","live_status":"is_upcoming","release_timestamp":1795255200,"formats":[]}'
			exit `+exit)
		got := ytdlp.New(ytdlp.Config{Path: path}, quiet).Resolve(t.Context(), pytooltest.URL)
		if got.State != watch.Upcoming || got.Source != "yt-dlp" || got.Began.IsZero() {
			t.Errorf("exit %s: got %+v", exit, got)
		}
	}
}

func TestResolverHidesNoWarnings(t *testing.T) {
	path, _ := pytooltest.Script(t, `echo "ERROR: $*" >&2`)
	got := ytdlp.New(ytdlp.Config{Path: path, SocketTimeout: 7 * time.Second}, quiet).Resolve(t.Context(), pytooltest.URL)
	if strings.Contains(got.Detail, "warn") || strings.Contains(got.Detail, "quiet") ||
		!strings.Contains(got.Detail, "--ignore-config") || !strings.Contains(got.Detail, "--socket-timeout 7 ") {
		t.Errorf("was called with %s", got.Detail)
	}
}

// The real tool, with a proxy that is not there, so that the outcome is the
// same on machines with and without a network.
func TestTheRealTool(t *testing.T) {
	path := pytooltest.Find(t, "YTDLP_PATH", "yt-dlp")
	pytooltest.NoNetwork(t)
	resolver := ytdlp.New(ytdlp.Config{Path: path}, quiet)

	t.Run("without a network YouTube is unreachable", func(t *testing.T) {
		got := resolver.Resolve(t.Context(), pytooltest.URL)
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
