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

// fakeTool is a tool that gives the answers it is told to.
type fakeTool struct {
	mu     sync.Mutex
	answer watch.Resolution
	takes  time.Duration
	asked  int
}

func (f *fakeTool) Resolve(ctx context.Context, _ monitor.StreamURL) watch.Resolution {
	f.mu.Lock()
	f.asked++
	answer, takes := f.answer, f.takes
	f.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		answer = watch.Resolution{Source: answer.Source, State: watch.Unreachable, Detail: "stopped"}
	}
	return answer
}

func (f *fakeTool) says(s watch.StreamState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer.State, f.answer.Detail = s, "it is "+string(s)
}

// times tells how often it has been asked since the last time.
func (f *fakeTool) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.asked
	f.asked = 0
	return n
}

// withTools runs a scenario on virtual time with two tools that both know nothing.
func withTools(t *testing.T, scenario func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ytdlp := &fakeTool{answer: watch.Resolution{Source: "yt-dlp"}}
		streamlink := &fakeTool{answer: watch.Resolution{Source: "streamlink"}}
		ytdlp.says(watch.Unreachable)
		streamlink.says(watch.Unreachable)
		var log bytes.Buffer
		f := fallback.NewResolver(ytdlp, streamlink, slog.New(slog.NewTextHandler(&log, nil)).With("monitor_id", "mon-1"))
		scenario(t, f, ytdlp, streamlink, &log)
	})
}

const watched = monitor.StreamURL("https://www.youtube.com/watch?v=abcdefghijk")

func TestTheSecondaryRunsOnlyWhenItMayHelp(t *testing.T) {
	for state, helps := range map[watch.StreamState]bool{
		watch.Live: false, watch.Upcoming: false, watch.Offline: false, watch.Ended: false, watch.NotALiveStream: false,
		watch.Private: false, watch.Removed: false, watch.RegionLocked: false, watch.AgeRestricted: false, watch.MembersOnly: false,
		watch.Blocked: true, watch.Unreachable: true, watch.ToolFailed: true,
	} {
		t.Run(fmt.Sprintf("%s: %v", state, helps), func(t *testing.T) {
			withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, _ *bytes.Buffer) {
				ytdlp.says(state)
				streamlink.says(watch.ManifestFound)
				streamlink.answer.Manifest, streamlink.answer.Detail = "https://media.test/master.m3u8", ""
				ytdlp.takes = 3 * time.Second
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
				if n := streamlink.times(); (n == 1) != helps {
					t.Errorf("the fallback was asked %d times", n)
				}
			})
		})
	}
}

func TestTheAnswerNamesBothFailures(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, _ *bytes.Buffer) {
		ytdlp.says(watch.Blocked)
		streamlink.says(watch.ToolFailed)
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

func TestTheCircuitOpensAfterFiveFailures(t *testing.T) { // 10.3
	// resolve asks n times, a second apart.
	resolve := func(t *testing.T, f *fallback.Resolver, n int) (last watch.Resolution) {
		t.Helper()
		for range n {
			last = f.Resolve(t.Context(), watched)
			time.Sleep(time.Second)
		}
		return last
	}

	t.Run("it is open for 30 s after 5 failures in a row, and both tools rest", func(t *testing.T) {
		withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, log *bytes.Buffer) {
			if got := resolve(t, f, 4); got.State != watch.Unreachable || log.Len() > 0 {
				t.Errorf("after 4 failures got %+v, log %s", got, log)
			}
			if got := f.Resolve(t.Context(), watched); got.State != watch.Unreachable {
				t.Errorf("the 5th failure is told as it is, got %+v", got)
			}
			if a, b := ytdlp.times(), streamlink.times(); a != 5 || b != 5 {
				t.Errorf("asked %d and %d times", a, b)
			}
			if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "tool=yt-dlp") || !strings.Contains(log.String(), "it is unreachable") || !strings.Contains(log.String(), "monitor_id=mon-1") || !strings.Contains(log.String(), "check DNS") {
				t.Errorf("logged %s", log)
			}
			time.Sleep(30 * time.Second)
			got := f.Resolve(t.Context(), watched)
			if got.State != watch.CircuitOpen || got.Source != "yt-dlp" ||
				got.Detail != "it is unreachable; streamlink: it is unreachable" {
				t.Errorf("after 30 s got %+v", got)
			}
			if a, b := ytdlp.times(), streamlink.times(); a != 0 || b != 0 {
				t.Errorf("while open asked %d and %d times", a, b)
			}
		})
	})

	t.Run("one trial that succeeds closes it", func(t *testing.T) {
		withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, log *bytes.Buffer) {
			resolve(t, f, 5)
			time.Sleep(30 * time.Second)
			ytdlp.says(watch.Live)
			if got := resolve(t, f, 2); got.State != watch.Live || ytdlp.times() != 5+2 {
				t.Errorf("got %+v", got)
			}
			ytdlp.says(watch.Blocked)
			if got := resolve(t, f, 4); got.State != watch.Blocked {
				t.Errorf("counting began at nothing again, got %+v", got)
			}
			if !strings.Contains(log.String(), "works again") {
				t.Errorf("logged %s", log)
			}
		})
	})

	t.Run("one trial that fails opens it for another 30 s", func(t *testing.T) {
		withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, _ *bytes.Buffer) {
			resolve(t, f, 5)
			time.Sleep(30 * time.Second)
			ytdlp.times()
			if got := resolve(t, f, 30); got.State != watch.CircuitOpen || ytdlp.times() != 1 {
				t.Errorf("got %+v", got)
			}
		})
	})

	t.Run("a second question does not join the trial", func(t *testing.T) {
		withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, _ *bytes.Buffer) {
			resolve(t, f, 5)
			time.Sleep(30 * time.Second)
			ytdlp.times()
			ytdlp.takes = 10 * time.Second
			var trial sync.WaitGroup
			trial.Go(func() { f.Resolve(t.Context(), watched) })
			synctest.Wait()
			if got := f.Resolve(t.Context(), watched); got.State != watch.CircuitOpen {
				t.Errorf("got %+v", got)
			}
			trial.Wait()
			if n := ytdlp.times(); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	})

	t.Run("a success in between starts the count again", func(t *testing.T) {
		withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, _ *bytes.Buffer) {
			for range 3 {
				ytdlp.says(watch.Unreachable)
				resolve(t, f, 4)
				ytdlp.says(watch.Private)
				resolve(t, f, 1)
			}
			if n := ytdlp.times(); n != 15 {
				t.Errorf("asked %d times", n)
			}
		})
	})

	t.Run("answers that nobody likes are no failures", func(t *testing.T) {
		withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, _ *bytes.Buffer) {
			ytdlp.says(watch.Removed)
			if got := resolve(t, f, 20); got.State != watch.Removed || ytdlp.times() != 20 {
				t.Errorf("got %+v", got)
			}
		})
	})

	t.Run("the fallback goes on while the primary rests, and back", func(t *testing.T) {
		withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, _ *bytes.Buffer) {
			streamlink.says(watch.ManifestFound)
			streamlink.answer.Detail = ""
			got := resolve(t, f, 20)
			if got.State != watch.ManifestFound || got.Detail != "yt-dlp: it is unreachable" {
				t.Errorf("got %+v", got)
			}
			if a, b := ytdlp.times(), streamlink.times(); a != 5 || b != 20 {
				t.Errorf("asked %d and %d times", a, b)
			}
			streamlink.says(watch.ToolFailed)
			if got := f.Resolve(t.Context(), watched); got.State != watch.CircuitOpen || !strings.Contains(got.Detail, "streamlink: it is tool_failed") {
				t.Errorf("got %+v", got)
			}
		})
	})
}

func TestARunThatItsCallerStoppedIsNoFailure(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, streamlink *fakeTool, log *bytes.Buffer) {
		ytdlp.takes = time.Minute
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if got := f.Resolve(ctx, watched); got.State.Answers() || got.Source != "yt-dlp" {
				t.Errorf("got %+v", got)
			}
		}
		if a, b := ytdlp.times(), streamlink.times(); a != 10 || b != 0 || log.Len() > 0 {
			t.Errorf("asked %d and %d times, logged %s", a, b, log)
		}
	})
}

func TestATimeLimitIsAFailure(t *testing.T) {
	withTools(t, func(t *testing.T, f *fallback.Resolver, ytdlp, _ *fakeTool, _ *bytes.Buffer) {
		ytdlp.takes = time.Minute
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			f.Resolve(ctx, watched)
			cancel()
		}
		if n := ytdlp.times(); n != 5 {
			t.Errorf("asked %d times", n)
		}
	})
}
