package supervisor_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// Decision O3.
func TestALostWorkerFailsItsMonitor(t *testing.T) {
	for _, how := range []string{"exit status 2", "killed by SIGKILL", "exit status 0"} {
		scenario(t, "a worker lost by "+how+" fails its monitor", func(t *testing.T) {
			h := newHarness(t, newMonitor("mon-a")).run("mon-a")
			h.advance(time.Minute)
			h.launcher.exit("mon-a", how)
			h.advance(2 * time.Second)
			h.expectFailed("mon-a", "worker_lost", how)
			h.expectCalls("launch mon-a 1")
		})
	}

	scenario(t, "a worker that was replaced is no loss", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a")).run("mon-a")
		h.advance(time.Second)
		h.launcher.report(supervisor.Exit{ID: "mon-a", Generation: 1, Detail: "exit status 0", Clean: true})
		next, _ := h.store.AdvanceGeneration(t.Context(), "mon-a", 1, "here")
		h.sup.Start(next)
		h.advance(time.Minute)
		h.expectActive("mon-a")
		h.expectCalls("launch mon-a 1", "launch mon-a 2")
	})

	scenario(t, "a worker that another gateway has replaced is no loss", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a")).run("mon-a")
		h.advance(time.Second)
		_, _ = h.store.AdvanceGeneration(t.Context(), "mon-a", 1, "here")
		h.launcher.exit("mon-a", "exit status 0")
		h.advance(time.Minute)
		h.expectActive("mon-a")
	})

	scenario(t, "a loss during a database outage is handled once, when it is over", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a")).run("mon-a")
		h.advance(time.Minute)
		h.store.set(func(r *database) { r.down = true; clear(r.calls) })
		h.launcher.exit("mon-a", "exit status 2")
		h.advance(10 * time.Minute)
		if h.store.asked("get") > 130 {
			t.Errorf("asked %d times in 10 minutes", h.store.asked("get"))
		}
		h.store.set(func(r *database) { r.down = false })
		h.advance(time.Minute)
		h.expectFailed("mon-a", "worker_lost", "exit status 2")
	})

	scenario(t, "a stop cancels the handling of a loss", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a")).run("mon-a")
		h.advance(time.Minute)
		h.launcher.exit("mon-a", "exit status 2")
		h.advance(500 * time.Millisecond)
		h.sup.Stop("mon-a")
		h.advance(30 * time.Second)
		h.expectActive("mon-a")
		h.expectCalls("launch mon-a 1", "stop mon-a")
	})
}

func TestAShutdownFailsNoMonitor(t *testing.T) {
	scenario(t, "a shutdown does not wait for a launch or a stop", func(t *testing.T) {
		a, b := newMonitor("mon-a"), newMonitor("mon-b")
		h := newHarness(t, a, b)
		h.launcher.stopTime, h.launcher.launchTime = 30*time.Second, 30*time.Second
		h.run()
		h.sup.Start(a)
		h.sup.Stop("mon-b")
		h.advance(time.Second)
		asked := time.Now()
		h.stop()
		if took := time.Since(asked); took != 0 {
			t.Errorf("took %v", took)
		}
		h.expectActive("mon-a")
	})

	scenario(t, "a closed launcher does not end Run", func(t *testing.T) {
		h := newHarness(t).run()
		close(h.exits)
		h.advance(time.Minute)
		h.sup.Stop("mon-a")
		h.advance(0)
		h.expectCalls("stop mon-a")
	})
}
