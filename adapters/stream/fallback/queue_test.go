package fallback_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/monitor/sourcetest"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

var discardLog = slog.New(slog.DiscardHandler)

// host is a host in virtual time.
type host struct {
	*fallback.Resolver
	tool   *fakeTool
	asking sync.WaitGroup
}

func newHost(places int) *host {
	tool := &fakeTool{answer: watch.Resolution{State: watch.Live}, duration: time.Second}
	return &host{Resolver: fallback.NewResolver(tool, tool, nil, fallback.NewHost(places, discardLog), discardLog), tool: tool}
}

// asked returns the context of a question.
func asked(ctx context.Context, u watch.Urgency) context.Context {
	return worker.WithPriority(ctx, worker.NewPriority(u))
}

// ask asks a question and returns once it runs or waits.
func (h *host) ask(t *testing.T, u watch.Urgency, url monitor.StreamURL) {
	t.Helper()
	h.asking.Go(func() { h.Resolve(asked(t.Context(), u), url) })
	synctest.Wait()
}

// wantOrder waits until all questions are answered, and checks in which order they were asked.
func (h *host) wantOrder(t *testing.T, want ...monitor.StreamURL) {
	t.Helper()
	h.asking.Wait()
	expect.Equal(t, "asked", h.tool.asked, want)
}

func TestTheMoreUrgentQuestionIsAskedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(1)
		h.ask(t, watch.UrgencyPoll, "running")
		h.ask(t, watch.UrgencyPoll, "poll 1")
		h.ask(t, watch.UrgencyStart, "start 1")
		h.ask(t, watch.UrgencyOutage, "outage 1")
		h.ask(t, watch.UrgencyPoll, "poll 2")
		h.ask(t, watch.UrgencyOutage, "outage 2")
		h.ask(t, watch.UrgencyStart, "start 2")
		h.wantOrder(t, "running", "outage 1", "outage 2", "start 1", "start 2", "poll 1", "poll 2")
	})
}

func TestAQuestionThatWaitsMayBecomeMoreUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(1)
		h.ask(t, watch.UrgencyPoll, "running")
		h.ask(t, watch.UrgencyPoll, "poll 1")
		h.ask(t, watch.UrgencyStart, "start")
		failing := worker.NewPriority(watch.UrgencyPoll)
		h.asking.Go(func() { h.Resolve(worker.WithPriority(t.Context(), failing), "poll whose stream fails") })
		synctest.Wait()
		h.ask(t, watch.UrgencyPoll, "poll 2")
		failing.Raise(watch.UrgencyOutage)
		failing.Raise(watch.UrgencyPoll) // it does not become less urgent again
		h.wantOrder(t, "running", "poll whose stream fails", "start", "poll 1", "poll 2")
	})
}

func TestNoMoreToolsRunThanThereArePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(4)
		began := time.Now()
		for range 1000 {
			h.asking.Go(func() { h.Resolve(t.Context(), watched) })
		}
		h.asking.Wait()
		if took := time.Since(began); h.tool.max != 4 || took != 250*time.Second {
			t.Errorf("%d at once, in %v", h.tool.max, took)
		}
	})
}

// More outages are asked about than one place can take, for an hour.
func TestNoQuestionStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(1)
		ctx, cancel := context.WithCancel(t.Context())
		for range 2000 {
			h.asking.Go(func() {
				for ctx.Err() == nil {
					h.Resolve(asked(ctx, watch.UrgencyOutage), "outage")
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		h.Resolve(asked(t.Context(), watch.UrgencyPoll), "poll")
		// Those that waited already, those of the ten minutes that an outage leads, and itself.
		if took := time.Since(began); took < 10*time.Minute || took > 2000*time.Second+10*time.Minute+time.Second {
			t.Errorf("the poll took %v", took)
		}
		cancel()
		h.asking.Wait()
	})
}

func TestAQuestionThatIsCancelledGivesUpItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(1)
		h.ask(t, watch.UrgencyPoll, "running")
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		h.asking.Go(func() {
			if got := h.Resolve(asked(ctx, watch.UrgencyOutage), "cancelled"); got.State != watch.Unreachable || !strings.Contains(got.Detail, "waited for its turn") {
				t.Errorf("got %+v", got)
			}
		})
		synctest.Wait()
		h.ask(t, watch.UrgencyPoll, "last")
		h.wantOrder(t, "running", "last")
		h.ask(t, watch.UrgencyPoll, "afterwards") // the place is free again
		h.asking.Wait()
	})
}

// streamOf is one of many streams.
func streamOf(n int) monitor.StreamURL {
	return monitor.StreamURL(fmt.Sprintf("https://www.youtube.com/watch?v=stream%05d", n))
}

func TestQuestionsThatWaitNoticeTheOpenCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := &fakeTool{answer: watch.Resolution{Source: "yt-dlp"}, duration: time.Second}
		tool.setState(watch.Unreachable)
		var log bytes.Buffer
		h := fallback.NewHost(1, slog.New(slog.NewTextHandler(&log, nil)))
		var asking sync.WaitGroup
		for n := range 100 {
			asking.Go(func() { fallback.NewResolver(tool, tool, nil, h, discardLog).Resolve(t.Context(), streamOf(n)) })
		}
		asking.Wait()
		expect.Equal(t, "runs of the tools", tool.takeRuns(), 2*fallback.MaxFailures)
		if strings.Count(log.String(), "A tool fails repeatedly") != 2 {
			t.Errorf("the log is %s", &log)
		}
		time.Sleep(fallback.OpenTime)
		tool.setState(watch.Live)
		for n := range 10 {
			if got := fallback.NewResolver(tool, tool, nil, h, discardLog).Resolve(t.Context(), streamOf(n)); got.State != watch.Live {
				t.Errorf("after the trial: %+v", got)
			}
		}
	})
}

func TestOneFailingStreamOpensNoCircuitOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, good := &fakeTool{answer: watch.Resolution{State: watch.ToolFailed}}, &fakeTool{answer: watch.Resolution{State: watch.Live}}
		h := fallback.NewHost(4, discardLog)
		failing := fallback.NewResolver(bad, bad, nil, h, discardLog)
		for range 100 {
			failing.Resolve(t.Context(), streamOf(0))
			time.Sleep(time.Second)
		}
		if n := bad.takeRuns(); n > 20 {
			t.Errorf("its tools ran %d times", n)
		}
		if got := fallback.NewResolver(good, bad, nil, h, discardLog).Resolve(t.Context(), streamOf(1)); got.State != watch.Live {
			t.Errorf("another stream: %+v", got)
		}
	})
}

func TestASourceThatFailsOpensNoCircuitOfOthers(t *testing.T) {
	sourcetest.Add(t, sourcetest.Imaginary)
	synctest.Test(t, func(t *testing.T) {
		tool := &fakeTool{}
		tool.setState(watch.Blocked)
		h := fallback.NewHost(1, discardLog)
		for n := range 2 * fallback.MaxFailures {
			fallback.NewResolver(tool, tool, nil, h, discardLog).Resolve(t.Context(), streamOf(n))
		}
		expect.Equal(t, "runs of both tools before their circuits are open", tool.takeRuns(), 2*fallback.MaxFailures)
		tool.setState(watch.Live)
		got := fallback.NewResolver(tool, tool, nil, h, discardLog).Resolve(t.Context(), sourcetest.Stream)
		expect.Equal(t, "a stream of another source is", got.State, watch.Live)
	})
}

func TestPlacesFollowCoresAndMemory(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		cores  int
		memory int64
		want   int
	}{
		{2, 8 * gib, 16}, {2, 4 * gib, 13}, {16, 4 * gib, 13}, {1, gib, 3}, {1, gib / 4, 2}, {2, 0, 16},
	} {
		if got := fallback.PlacesFor(c.cores, c.memory); got != c.want {
			t.Errorf("%d cores and %d bytes: %d places, want %d", c.cores, c.memory, got, c.want)
		}
	}
	if n := fallback.Places(); n < 2 {
		t.Errorf("this host has %d places", n)
	}
}

func TestMemoryIsThatOfTheControlGroup(t *testing.T) {
	const total = "MemFree: 1 kB\nMemTotal:       8000000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"a host without limits":  {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/\n"}, 8000000 << 10},
		"a group without limit":  {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 8000000 << 10},
		"a container":            {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000000\n"}, 1000000},
		"a unit of systemd":      {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "1:cpu:/x\n0::/system.slice/a.service\n", "sys/fs/cgroup/system.slice/a.service/memory.max": "2000000\n"}, 2000000},
		"a limit above the host": {map[string]string{"proc/meminfo": total, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "9000000000000\n"}, 8000000 << 10},
		"another system":         {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for path, text := range c.files {
				file := filepath.Join(root, path)
				must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
				must.Do(t, os.WriteFile(file, []byte(text), 0o644))
			}
			expect.Equal(t, "got", fallback.Memory(root), c.want)
		})
	}
}
