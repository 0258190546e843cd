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
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

var _ worker.Resolver = (*fallback.Resolver)(nil)

// fakeTool returns a fixed Resolution and records its runs.
type fakeTool struct {
	mu           sync.Mutex
	answer       watch.Resolution
	refusedAt    string // the address at which it is blocked
	duration     time.Duration
	runs         int
	asked        []monitor.StreamURL
	through      []string // the address of each question
	running, max int
}

var live = watch.Resolution{State: watch.Live}

func (f *fakeTool) Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution {
	f.mu.Lock()
	f.runs++
	f.running++
	f.asked, f.max = append(f.asked, url), max(f.max, f.running)
	answer, duration := f.answer, f.duration
	address := request.Egress(ctx)
	f.through = append(f.through, address)
	if address != "" && address == f.refusedAt {
		answer.State = watch.Blocked
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.mu.Unlock()
	}()
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
		watch.Private: false, watch.Removed: false, watch.RegionLocked: false, watch.AgeRestricted: false, watch.MembersOnly: false, watch.LoginLost: false,
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

// step changes the answers of the tools and asks some times, a second apart.
type step struct {
	pause             time.Duration     // before the first question
	ytdlp, streamlink watch.StreamState // empty: as before
	times             int
	want              watch.StreamState // the last answer
	runs              [2]int            // of yt-dlp and streamlink
}

func TestACircuitOpensAfterFiveFailures(t *testing.T) { // section 10.3
	failing := step{times: 5, want: watch.Unreachable, runs: [2]int{5, 5}}
	for name, steps := range map[string][]step{
		"for half a minute": {
			{times: 4, want: watch.Unreachable, runs: [2]int{4, 4}},
			{times: 1, want: watch.Unreachable, runs: [2]int{1, 1}},
			{pause: 28 * time.Second, times: 1, want: watch.CircuitOpen},
		},
		"a trial that succeeds closes it, and the count begins again": {
			failing, {pause: 30 * time.Second, ytdlp: watch.Live, times: 2, want: watch.Live, runs: [2]int{2, 0}},
			{ytdlp: watch.Blocked, times: 4, want: watch.Blocked, runs: [2]int{4, 1}},
		},
		"a trial that fails opens it again": {failing, {pause: 30 * time.Second, times: 30, want: watch.CircuitOpen, runs: [2]int{1, 1}}},
		"a success resets the count": {
			{times: 4, want: watch.Unreachable, runs: [2]int{4, 4}}, {ytdlp: watch.Private, times: 1, want: watch.Private, runs: [2]int{1, 0}},
			{ytdlp: watch.Blocked, streamlink: watch.ManifestFound, times: 4, want: watch.ManifestFound, runs: [2]int{4, 4}},
			{ytdlp: watch.Private, times: 1, want: watch.Private, runs: [2]int{1, 0}}, {ytdlp: watch.Blocked, times: 4, want: watch.ManifestFound, runs: [2]int{4, 4}},
		},
		"a refusal is no failure": {{ytdlp: watch.Removed, times: 20, want: watch.Removed, runs: [2]int{20, 0}}},
		"the secondary runs while it is open": {
			{streamlink: watch.ManifestFound, times: 20, want: watch.ManifestFound, runs: [2]int{5, 20}},
			{streamlink: watch.ToolFailed, times: 1, want: watch.CircuitOpen, runs: [2]int{0, 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, _ *bytes.Buffer) {
				for i, step := range steps {
					for tool, state := range map[*fakeTool]watch.StreamState{ytdlp: step.ytdlp, streamlink: step.streamlink} {
						if state != "" {
							tool.setState(state)
						}
					}
					time.Sleep(step.pause)
					got := resolveTimes(t, f, step.times)
					if runs := [2]int{ytdlp.takeRuns(), streamlink.takeRuns()}; got.State != step.want || runs != step.runs {
						t.Errorf("step %d: got %+v after %v runs, want %s after %v", i, got, runs, step.want, step.runs)
					}
				}
			})
		})
	}
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

func TestACircuitIsLogged(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, log *bytes.Buffer) {
		resolveTimes(t, f, 4)
		if log.Len() > 0 {
			t.Errorf("after 4 failures the log is %s", log)
		}
		if got := resolveTimes(t, f, 2); got.Source != "yt-dlp" || got.Detail != "it is unreachable; streamlink: it is unreachable" {
			t.Errorf("while it is open, got %+v", got)
		}
		expect.Text(t, "the log", log.String(), "level=WARN", "tool=yt-dlp", "it is unreachable", "monitor_id=mon-1", "check DNS")
		time.Sleep(30 * time.Second)
		ytdlp.setState(watch.Live)
		resolveTimes(t, f, 1)
		expect.Text(t, "the log", log.String(), "works again")
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
		expect.Equal(t, "runs of yt-dlp", ytdlp.takeRuns(), 1)
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
		expect.Equal(t, "runs of yt-dlp", ytdlp.takeRuns(), 5)
	})
}
