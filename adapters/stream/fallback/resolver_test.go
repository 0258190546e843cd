package fallback_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

var _ worker.Resolver = (*fallback.Resolver)(nil)

// fakeTool returns a fixed Resolution.
type fakeTool struct {
	mu       sync.Mutex
	answer   watch.Resolution
	duration time.Duration
	runs     int
}

func (f *fakeTool) Resolve(ctx context.Context, _ monitor.StreamURL) watch.Resolution {
	f.mu.Lock()
	f.runs++
	answer, duration := f.answer, f.duration
	f.mu.Unlock()
	select {
	case <-time.After(duration):
	case <-ctx.Done():
		answer = watch.Resolution{Source: answer.Source, State: watch.Unreachable, Detail: "stopped"}
	}
	return answer
}

func (f *fakeTool) setState(s watch.StreamState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer.State, f.answer.Detail = s, "it is "+string(s)
}

// takeRuns returns the number of runs since the last call.
func (f *fakeTool) takeRuns() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.runs
	f.runs = 0
	return n
}

// withTools runs a scenario in virtual time. Both tools fail with Unreachable.
func withTools(t *testing.T, scenario func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ytdlp := &fakeTool{answer: watch.Resolution{Source: "yt-dlp"}}
		streamlink := &fakeTool{answer: watch.Resolution{Source: "streamlink"}}
		ytdlp.setState(watch.Unreachable)
		streamlink.setState(watch.Unreachable)
		var log bytes.Buffer
		f := fallback.NewResolver(ytdlp, streamlink, nil, nil, slog.New(slog.NewTextHandler(&log, nil)).With("monitor_id", "mon-1"))
		scenario(t, f, ytdlp, streamlink, &log)
	})
}

const watched = monitor.StreamURL("https://www.youtube.com/watch?v=abcdefghijk")

func TestTheSecondaryRunsOnlyWhenItMayHelp(t *testing.T) {
	for state, helps := range map[watch.StreamState]bool{
		watch.Live: false, watch.Upcoming: false, watch.Offline: false, watch.Ended: false, watch.NotALiveStream: false,
		watch.Private: false, watch.Removed: false, watch.RegionLocked: false, watch.AgeRestricted: false, watch.MembersOnly: false,
		watch.Blocked: true, watch.RateLimited: true, watch.Unreachable: true, watch.ToolFailed: true,
	} {
		t.Run(fmt.Sprintf("%s: %v", state, helps), func(t *testing.T) {
			withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, _ *bytes.Buffer) {
				ytdlp.setState(state)
				streamlink.setState(watch.ManifestFound)
				streamlink.answer.Manifest, streamlink.answer.Detail = "https://media.test/master.m3u8", ""
				ytdlp.duration = 3 * time.Second
				got := f.Resolve(t.Context(), watched)
				want := watch.Resolution{State: state, Source: "yt-dlp", Detail: "it is " + string(state)}
				if helps {
					want = watch.Resolution{
						State: watch.ManifestFound, Source: "streamlink",
						Manifest: "https://media.test/master.m3u8", Detail: "yt-dlp: it is " + string(state),
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("got %+v\nwant %+v", got, want)
				}
				if n := streamlink.takeRuns(); (n == 1) != helps {
					t.Errorf("streamlink ran %d times", n)
				}
			})
		})
	}
}

func TestTheAnswerNamesBothFailures(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, _ *bytes.Buffer) {
		ytdlp.setState(watch.Blocked)
		streamlink.setState(watch.ToolFailed)
		got := f.Resolve(t.Context(), watched)
		if got.State != watch.Blocked || got.Source != "yt-dlp" || got.Detail != "it is blocked; streamlink: it is tool_failed" {
			t.Errorf("got %+v", got)
		}

		ytdlp.answer.Detail = strings.Repeat("配", 200)
		streamlink.answer.Detail = strings.Repeat("信", 200)
		got = f.Resolve(t.Context(), watched)
		if len(got.Detail) > 460 || !strings.Contains(got.Detail, "配…; streamlink: 信") || !strings.HasSuffix(got.Detail, "信…") {
			t.Errorf("got %d bytes: %s", len(got.Detail), got.Detail)
		}
	})
}

// resolveTimes calls Resolve n times, a second apart.
func resolveTimes(t *testing.T, f *fallback.Resolver, n int) (last watch.Resolution) {
	t.Helper()
	for range n {
		last = f.Resolve(t.Context(), watched)
		time.Sleep(time.Second)
	}
	return last
}

func TestTheCircuitOpensAfterFiveFailures(t *testing.T) { // section 10.3
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, log *bytes.Buffer) {
		if got := resolveTimes(t, f, 4); got.State != watch.Unreachable || log.Len() > 0 {
			t.Errorf("after 4 failures got %+v, log %s", got, log)
		}
		if got := f.Resolve(t.Context(), watched); got.State != watch.Unreachable {
			t.Errorf("after the 5th failure got %+v, want it unchanged", got)
		}
		if a, b := ytdlp.takeRuns(), streamlink.takeRuns(); a != 5 || b != 5 {
			t.Errorf("yt-dlp ran %d times, streamlink %d times", a, b)
		}
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "tool=yt-dlp") || !strings.Contains(log.String(), "it is unreachable") || !strings.Contains(log.String(), "monitor_id=mon-1") || !strings.Contains(log.String(), "check DNS") {
			t.Errorf("the log is %s", log)
		}
		time.Sleep(30 * time.Second)
		got := f.Resolve(t.Context(), watched)
		if got.State != watch.CircuitOpen || got.Source != "yt-dlp" ||
			got.Detail != "it is unreachable; streamlink: it is unreachable" {
			t.Errorf("after 30 s got %+v", got)
		}
		if a, b := ytdlp.takeRuns(), streamlink.takeRuns(); a != 0 || b != 0 {
			t.Errorf("while the circuit was open, yt-dlp ran %d times and streamlink %d times", a, b)
		}
	})
}

func TestATrialThatSucceedsClosesTheCircuit(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, log *bytes.Buffer) {
		resolveTimes(t, f, 5)
		time.Sleep(30 * time.Second)
		ytdlp.setState(watch.Live)
		if got := resolveTimes(t, f, 2); got.State != watch.Live || ytdlp.takeRuns() != 5+2 {
			t.Errorf("got %+v", got)
		}
		ytdlp.setState(watch.Blocked)
		if got := resolveTimes(t, f, 4); got.State != watch.Blocked {
			t.Errorf("got %+v, want the failure: the count begins at 0 again", got)
		}
		if !strings.Contains(log.String(), "works again") {
			t.Errorf("the log is %s", log)
		}
	})
}

func TestATrialThatFailsOpensTheCircuitAgain(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, _ *bytes.Buffer) {
		resolveTimes(t, f, 5)
		time.Sleep(30 * time.Second)
		ytdlp.takeRuns()
		if got := resolveTimes(t, f, 30); got.State != watch.CircuitOpen || ytdlp.takeRuns() != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestOnlyOneCallIsATrial(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, _ *bytes.Buffer) {
		resolveTimes(t, f, 5)
		time.Sleep(30 * time.Second)
		ytdlp.takeRuns()
		ytdlp.duration = 10 * time.Second
		var trial sync.WaitGroup
		trial.Go(func() { f.Resolve(t.Context(), watched) })
		synctest.Wait()
		if got := f.Resolve(t.Context(), watched); got.State != watch.CircuitOpen {
			t.Errorf("got %+v", got)
		}
		trial.Wait()
		if n := ytdlp.takeRuns(); n != 1 {
			t.Errorf("yt-dlp ran %d times", n)
		}
	})
}

func TestASuccessResetsTheCountOfFailures(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, _ *bytes.Buffer) {
		for range 3 {
			ytdlp.setState(watch.Unreachable)
			resolveTimes(t, f, 4)
			ytdlp.setState(watch.Private)
			resolveTimes(t, f, 1)
		}
		if n := ytdlp.takeRuns(); n != 15 {
			t.Errorf("yt-dlp ran %d times", n)
		}
	})
}

func TestARefusalIsNoFailure(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, _ *bytes.Buffer) {
		ytdlp.setState(watch.Removed)
		if got := resolveTimes(t, f, 20); got.State != watch.Removed || ytdlp.takeRuns() != 20 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestTheSecondaryRunsWhileTheCircuitIsOpen(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, _ *bytes.Buffer) {
		streamlink.setState(watch.ManifestFound)
		streamlink.answer.Detail = ""
		got := resolveTimes(t, f, 20)
		if got.State != watch.ManifestFound || got.Detail != "yt-dlp: it is unreachable" {
			t.Errorf("got %+v", got)
		}
		if a, b := ytdlp.takeRuns(), streamlink.takeRuns(); a != 5 || b != 20 {
			t.Errorf("yt-dlp ran %d times, streamlink %d times", a, b)
		}
		streamlink.setState(watch.ToolFailed)
		if got := f.Resolve(t.Context(), watched); got.State != watch.CircuitOpen || !strings.Contains(got.Detail, "streamlink: it is tool_failed") {
			t.Errorf("got %+v", got)
		}
	})
}

func TestACancelledRunIsNoFailure(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, log *bytes.Buffer) {
		ytdlp.duration = time.Minute
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if got := f.Resolve(ctx, watched); got.State.Known() || got.Source != "yt-dlp" {
				t.Errorf("got %+v", got)
			}
		}
		if a, b := ytdlp.takeRuns(), streamlink.takeRuns(); a != 10 || b != 0 || log.Len() > 0 {
			t.Errorf("yt-dlp ran %d times, streamlink %d times, the log is %s", a, b, log)
		}
	})
}

func TestATimeLimitIsAFailure(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, _ *bytes.Buffer) {
		ytdlp.duration = time.Minute
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			f.Resolve(ctx, watched)
			cancel()
		}
		if n := ytdlp.takeRuns(); n != 5 {
			t.Errorf("yt-dlp ran %d times", n)
		}
	})
}
