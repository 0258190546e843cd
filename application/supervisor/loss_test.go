package supervisor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
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

// Decision O3.
func TestALostWorkerIsRelaunched(t *testing.T) {
	start := func(t *testing.T) *harness {
		h := newHarness(t, monitored("mon-a")).relaunching().run("mon-a")
		h.advance(time.Second)
		return h
	}

	scenario(t, "a worker is replaced five times in ten minutes with growing pauses, then its monitor fails", func(t *testing.T) {
		h := start(t)
		want := []string{"launch mon-a 1"}
		for n := range 5 {
			h.launcher.exit("mon-a", "exit status 2")
			h.advance(time.Duration(min(max(1, 1<<n/2), 5))*time.Second - time.Millisecond)
			h.expectCalls(want...)
			h.advance(time.Millisecond)
			want = append(want, fmt.Sprintf("launch mon-a %d", n+2))
			h.expectCalls(want...)
		}
		h.launcher.exit("mon-a", "exit status 2")
		h.advance(time.Minute)
		h.expectCalls(want...)
		h.expectFailed("mon-a", "worker_lost", "exit status 2; 5 relaunches in 10m0s did not help")
	})

	scenario(t, "a worker that is lost every two minutes is replaced without limit", func(t *testing.T) {
		h := start(t)
		for range 30 {
			h.launcher.exit("mon-a", "exit status 2")
			h.advance(2*time.Minute + time.Second)
		}
		h.expectActive("mon-a")
		h.expectRunning("mon-a", 31)
	})

	scenario(t, "a generation whose answer was lost is launched", func(t *testing.T) {
		h := start(t)
		h.store.set(func(r *database) { r.lostAnswers.advance = 1 })
		h.launcher.exit("mon-a", "killed by SIGKILL")
		h.advance(3 * time.Second) // the exit grace period and one pause
		h.expectCalls("launch mon-a 1", "launch mon-a 2")
		h.expectActive("mon-a")
	})

	scenario(t, "a generation stored for another runtime is left to it", func(t *testing.T) {
		h := start(t)
		h.store.set(func(r *database) { r.lostAnswers.advance = 1 })
		h.launcher.exit("mon-a", "killed by SIGKILL")
		h.advance(1500 * time.Millisecond)
		h.store.change("mon-a", func(m *monitor.Monitor) { m.RuntimeID = "there" })
		h.advance(time.Minute)
		h.expectCalls("launch mon-a 1")
		h.expectActive("mon-a")
	})

	scenario(t, "a running worker that does not report for 30 s is replaced", func(t *testing.T) {
		h := start(t)
		h.reportFor(time.Minute, "mon-a")
		h.advance(29 * time.Second)
		h.expectCalls("launch mon-a 1")
		h.advance(6 * time.Second)
		h.expectCalls("launch mon-a 1", "launch mon-a 2")
		if n := strings.Count(h.log.String(), "has not reported for 30s"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})

	scenario(t, "a worker that does not report fails its monitor under the policy error", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).run("mon-a")
		h.advance(40 * time.Second)
		h.expectFailed("mon-a", "worker_lost", "has not reported for 30s")
		h.expectCalls("launch mon-a 1", "stop mon-a")
	})

	scenario(t, "a database that cannot be written to expires no lease", func(t *testing.T) {
		h := start(t)
		h.store.set(func(r *database) { r.failingID = "mon-a" })
		h.advance(50 * time.Second) // expired after 30 s, tried once, would expire again after 30 s
		h.store.set(func(r *database) { r.failingID = "" })
		h.advance(8 * time.Second)
		h.store.report("mon-a", monitor.Monitoring)
		h.reportFor(time.Minute, "mon-a")
		h.expectRunning("mon-a", 1)
	})

	scenario(t, "a report that could not be stored renews the lease", func(t *testing.T) {
		h := start(t)
		for range 20 {
			h.advance(10 * time.Second)
			h.sup.RenewLease("mon-a", 1)
		}
		h.expectCalls("launch mon-a 1")
	})

	scenario(t, "a worker that reports during its replacement is not replaced", func(t *testing.T) {
		h := start(t)
		h.store.set(func(r *database) { r.reportsBeforeGet = 1 })
		h.advance(30*time.Second + 500*time.Millisecond)
		h.expectCalls("launch mon-a 1")
	})

	scenario(t, "under the policy relaunch a failing launch is retried for ten minutes", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).relaunching()
		h.launcher.launchFailures = 1000
		h.run("mon-a")
		h.advance(9 * time.Minute)
		h.expectActive("mon-a")
		h.launcher.set(func(l *fakeLauncher) { l.launchFailures = 0 })
		h.advance(10 * time.Second)
		h.expectRunning("mon-a", 1)
		h.launcher.set(func(l *fakeLauncher) { l.launchFailures = 1000 })
		h.store.end("mon-a")
		h.sup.Start(monitored("mon-b"))
		h.store.add(monitored("mon-b"))
		h.advance(11 * time.Minute)
		h.expectFailed("mon-b", "launch_failed", "no room")
	})

	scenario(t, "the lease of a worker that is being launched does not expire", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).relaunching()
		h.launcher.launchTime = 80 * time.Second
		h.run("mon-a")
		h.advance(100 * time.Second)
		h.expectCalls("launch mon-a 1")
	})
}
