package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestWorkersAreStartedAndStopped(t *testing.T) {
	scenario(t, "starting a monitor again, or an older generation, launches nothing", func(t *testing.T) {
		m := newMonitor("mon-a")
		m.Generation = 2
		h := newHarness(t, m).run()
		h.sup.Start(m)
		h.sup.Start(m)
		m.Generation = 1
		h.sup.Start(m)
		h.advance(time.Minute)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "a monitor stopped twice is stopped once, which is no error", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a"))
		h.launcher.stopTime = 20 * time.Second
		h.run("mon-a")
		h.advance(time.Second)
		h.sup.Stop("mon-a")
		h.advance(time.Second)
		h.sup.Stop("mon-a")
		h.advance(time.Minute)
		h.expectCalls("launch mon-a 1", "stop mon-a")
		h.expectActive("mon-a") // ending it is the caller's
	})

	scenario(t, "a stop during a launch leaves no worker behind", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a"))
		h.launcher.launchTime = 10 * time.Second
		h.run("mon-a")
		h.advance(time.Second)
		h.sup.Stop("mon-a")
		h.advance(time.Minute)
		h.expectCalls("launch mon-a 1", "stop mon-a")
		h.expectRunning("mon-a", 0)
		h.expectActive("mon-a")
	})

	scenario(t, "a stop between two tries of a launch ends the retries", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a"))
		h.launcher.launchFailures = 100
		h.run("mon-a")
		h.advance(500 * time.Millisecond)
		h.sup.Stop("mon-a")
		h.advance(time.Minute)
		h.expectCalls("launch mon-a 1", "stop mon-a")
		h.expectActive("mon-a")
	})

	scenario(t, "a start after a stop waits for the stop and launches", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a")).run("mon-a")
		h.advance(time.Second)
		h.launcher.set(func(l *fakeLauncher) { l.stopTime = 5 * time.Second })
		h.sup.Stop("mon-a")
		h.advance(10 * time.Second)
		m := newMonitor("mon-a")
		m.Generation = 2
		h.sup.Start(m)
		h.advance(time.Second)
		h.expectRunning("mon-a", 2)
		h.expectActive("mon-a")
	})

	scenario(t, "a failing launch is retried after 1, 2 and 4 s", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a"))
		h.launcher.launchFailures = 3
		h.run("mon-a")
		h.advance(6900 * time.Millisecond)
		h.expectCalls("launch mon-a 1", "launch mon-a 1", "launch mon-a 1")
		h.advance(200 * time.Millisecond)
		h.expectRunning("mon-a", 1)
		h.expectActive("mon-a")
	})

	scenario(t, "a launch that fails for two minutes fails the monitor", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a"))
		h.launcher.launchFailures = 100
		h.run("mon-a")
		h.advance(2 * time.Minute)
		h.expectActive("mon-a") // a control plane that is restarted may take as long
		h.advance(10 * time.Second)
		h.expectFailed("mon-a", "launch_failed", "no room")
	})

	scenario(t, "MaxConcurrentLaunches is not exceeded", func(t *testing.T) {
		var all []monitor.Monitor
		for i := range 20 {
			all = append(all, newMonitor(monitor.ID(fmt.Sprintf("mon-%d", i))))
		}
		h := newHarness(t, all...)
		h.launcher.launchTime = time.Second
		h.run()
		for _, m := range all {
			h.sup.Start(m)
		}
		h.advance(time.Minute)
		if n := len(h.launcher.requests()); n != 20 || h.launcher.maxLaunching != 4 {
			t.Errorf("%d launches, %d at once; want 20, 4", n, h.launcher.maxLaunching)
		}
	})

	scenario(t, "a slow stop delays no launch of another monitor", func(t *testing.T) {
		a, b := newMonitor("mon-a"), newMonitor("mon-b")
		h := newHarness(t, a, b)
		h.launcher.stopTime = 30 * time.Second
		h.run()
		h.sup.Start(a)
		h.advance(time.Second)
		h.sup.Stop("mon-a")
		h.sup.Start(b)
		h.advance(time.Second)
		h.expectRunning("mon-b", 1)
	})
}

func TestAnInvalidConfigIsRefused(t *testing.T) {
	id, run := func() string { return "" }, func(context.Context) error { return nil }
	of := func(task supervisor.LeaderTask) supervisor.Config {
		return supervisor.Config{NewEventID: id, LeaderTasks: []supervisor.LeaderTask{task}}
	}
	for name, cfg := range map[string]supervisor.Config{
		"no NewEventID":                {},
		"a negative Launches":          {NewEventID: id, MaxConcurrentLaunches: -1},
		"a negative timeout":           {NewEventID: id, ReconcileTimeout: -1},
		"a task without a name":        of(supervisor.LeaderTask{Every: 1, Run: run}),
		"a task without an interval":   of(supervisor.LeaderTask{Name: "a", Run: run}),
		"a task that is nothing to do": of(supervisor.LeaderTask{Name: "a", Every: 1}),
	} {
		if _, err := supervisor.New(newFakeStore(), newFakeLauncher().connect(), cfg); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestTheSupervisorIsAliveWhileItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sup, err := supervisor.New(newFakeStore(), newFakeLauncher().connect(), supervisor.Config{NewEventID: func() string { return "" }, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(when string, want bool) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := sup.Alive(ctx); (err == nil) != want {
				t.Errorf("%s: %v", when, err)
			}
		}
		expect("nothing handles its inputs", false)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); sup.Run(ctx) }()
		expect("it runs", true)
		cancel()
		<-ended
		expect("it has ended", true)
	})
}

// counting runs a gateway with a task every two seconds that counts its runs.
func counting(t *testing.T, leader string, result error) (h *harness, runs *atomic.Int64) {
	h, runs = newHarness(t), new(atomic.Int64)
	h.store.leader = leader
	h.cfg.LeaderTasks = []supervisor.LeaderTask{{Name: "count", Every: 2 * time.Second, Run: func(context.Context) error {
		runs.Add(1)
		return result
	}}}
	return h.run(), runs
}

func TestOnlyTheLeaderRunsItsTasks(t *testing.T) {
	scenario(t, "the leader runs a task at its interval until it is stopped", func(t *testing.T) {
		h, runs := counting(t, "", nil)
		h.advance(5 * time.Second) // the first comparison finds out who leads
		before := runs.Load()
		h.advance(20 * time.Second)
		if n := runs.Load() - before; n != 10 {
			t.Errorf("%d runs in 20 s, want 10", n)
		}
		h.stop()
		before = runs.Load()
		h.advance(20 * time.Second)
		if n := runs.Load() - before; n != 0 {
			t.Errorf("%d runs after the stop", n)
		}
	})

	scenario(t, "a gateway that does not lead runs nothing until it leads", func(t *testing.T) {
		h, runs := counting(t, "another", nil)
		h.advance(20 * time.Second)
		if n := runs.Load(); n != 0 {
			t.Errorf("%d runs without the lead", n)
		}
		h.store.set(func(d *database) { d.leader = "" })
		h.advance(20 * time.Second)
		if runs.Load() == 0 {
			t.Error("no run after the election")
		}
	})

	scenario(t, "a lasting task goes on while the gateway leads", func(t *testing.T) {
		h, running := newHarness(t), new(atomic.Int64)
		h.cfg.LeaderTasks = []supervisor.LeaderTask{{Name: "follow", Every: time.Second, Lasting: true, Run: func(ctx context.Context) error {
			running.Add(1)
			defer running.Add(-1)
			<-ctx.Done()
			return nil
		}}}
		h.run()
		for when, leader := range []string{"", "another", ""} {
			h.store.set(func(d *database) { d.leader = leader })
			h.advance(5 * time.Minute)
			if n := running.Load(); n != int64(1-when%2) {
				t.Errorf("%d run while the leader is %q", n, leader)
			}
		}
		h.stop()
		if n := running.Load(); n != 0 {
			t.Errorf("%d run after the stop", n)
		}
	})

	scenario(t, "a task that fails is tried again, more and more slowly", func(t *testing.T) {
		h, runs := counting(t, "", errors.New("the disk is full"))
		h.advance(10 * time.Minute)
		if n := runs.Load(); n < 10 || n > 20 {
			t.Errorf("%d runs in 10 minutes of failures", n)
		}
		if text := h.log.String(); !strings.Contains(text, "task=count") || !strings.Contains(text, "the disk is full") {
			t.Errorf("the log does not name the task and its error: %s", text)
		}
	})
}
