package supervisor_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAStoppingGatewayReleasesItsMonitors(t *testing.T) {
	scenario(t, "a registered monitor gets its worker at once, in its first generation", func(t *testing.T) {
		m := newMonitor("mon-a")
		m.ReservedUntil = time.Now().Add(30 * time.Second) // its gateway holds it
		h := newHarness(t, m).run()
		h.sup.Start(m)
		h.advance(0)
		h.expectCalls("launch mon-a 1")
		h.reportFor(time.Hour, "mon-a")
		h.expectCalls("launch mon-a 1")
		if log := h.log.String(); strings.Contains(log, "reservation") {
			t.Errorf("the log says:\n%s", log)
		}
	})

	scenario(t, "monitors that a stopping gateway releases are resumed by another", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a"), newMonitor("mon-b"), newMonitor("mon-c")).run()
		for _, id := range []monitor.ID{"mon-a", "mon-b", "mon-c"} {
			h.sup.Start(h.store.get(id))
			h.advance(time.Second)
		}
		h.sup.Stop("mon-b")                                                  // its end is not stored yet
		h.store.change("mon-c", func(m *monitor.Monitor) { m.Generation++ }) // taken over
		h.advance(time.Second)
		h.stop()
		h.release()
		other := h.beside().run()
		other.advance(2 * time.Second)
		other.expectCalls("launch mon-a 2")
	})

	scenario(t, "each monitor is released when its own worker has ended", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-quick"), newMonitor("mon-slow")).run("mon-quick", "mon-slow")
		h.advance(time.Second)
		h.sup.BeginShutdown()
		h.stop()
		done := make(chan error)
		go func() { done <- h.sup.Release(t.Context()) }()
		h.launcher.exit("mon-quick", "exit status 0")
		h.advance(time.Second)
		h.expectReleased("mon-quick", true)
		h.expectReleased("mon-slow", false)
		h.launcher.report(supervisor.Exit{ID: "mon-slow", Detail: "exit status 0"}) // of an earlier generation
		h.launcher.exit("mon-slow", "killed by SIGKILL")
		h.advance(time.Second)
		close(h.exits)
		if err := <-done; err != nil {
			t.Error(err)
		}
		h.expectReleased("mon-slow", true)
	})

	scenario(t, "a monitor whose worker was not adopted yet is released, too", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a"))
		h.launcher.running["mon-a"] = 1
		h.run()
		h.sup.BeginShutdown()
		h.stop()
		h.launcher.exit("mon-a", "exit status 0")
		h.release()
		h.expectReleased("mon-a", true)
	})

	scenario(t, "in a shared runtime workers go on, and only monitors not launched yet are released", func(t *testing.T) {
		h := newHarness(t, monitored("mon-runs"), newMonitor("mon-waits"), monitored("mon-lost"), monitored("mon-elsewhere")).inSharedRuntime().relaunching()
		h.launcher.running["mon-elsewhere"] = 1
		h.run("mon-runs", "mon-lost")
		h.advance(time.Second)
		h.launcher.set(func(l *fakeLauncher) { l.launchFailures = 100 })
		h.sup.Start(h.store.get("mon-waits"))
		h.advance(time.Second)
		h.sup.BeginShutdown()
		h.launcher.exit("mon-lost", "evicted")
		h.advance(0)
		h.stop()
		h.release()
		for id, want := range map[monitor.ID]bool{"mon-runs": false, "mon-waits": true, "mon-lost": false, "mon-elsewhere": false} {
			h.expectReleased(id, want)
		}
	})

	scenario(t, "a worker that is being replaced at the end is released in its new generation", func(t *testing.T) {
		for _, shared := range []bool{false, true} {
			h := newHarness(t, monitored("mon-a")).relaunching()
			h.launcher.runtime.Shared = shared
			h.store.advanceTime = time.Second
			h.run("mon-a")
			h.advance(time.Second)
			h.launcher.exit("mon-a", "killed by SIGKILL")
			h.advance(1500 * time.Millisecond)
			h.stop()
			h.release()
			h.expectReleased("mon-a", true)
			if m := h.store.get("mon-a"); m.Generation != 2 {
				t.Errorf("shared runtime %v: it became %+v", shared, m)
			}
		}
	})

	scenario(t, "no worker is missed after BeginShutdown", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).run("mon-a")
		h.advance(time.Second)
		h.sup.BeginShutdown()
		h.launcher.exit("mon-a", "killed by SIGTERM")
		h.store.add(monitored("mon-b")) // it is missing
		h.advance(5 * time.Minute)
		h.expectActive("mon-a")
		h.expectActive("mon-b")
		h.expectCalls("launch mon-a 1")
	})

	scenario(t, "a monitor whose worker is lost after BeginShutdown is released", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a"), monitored("mon-b")).run("mon-a", "mon-b")
		h.advance(time.Second)
		h.sup.BeginShutdown()
		h.launcher.exit("mon-a", "exit status 2")
		h.store.report("mon-b", monitor.Completed)
		h.launcher.exit("mon-b", "exit status 0")
		h.advance(10 * time.Second) // requests are answered until their end
		h.stop()
		h.release()
		h.expectReleased("mon-a", true)
		if m := h.store.get("mon-b"); m.Status != monitor.Completed || !m.ReservedUntil.IsZero() {
			t.Errorf("what has ended became %+v", m)
		}
		other := h.beside().run()
		other.advance(2 * time.Second)
		other.expectCalls("launch mon-a 2")
		other.expectActive("mon-a")
	})

	scenario(t, "a monitor of another runtime whose lease expires at BeginShutdown is not released", func(t *testing.T) {
		m := monitored("mon-a")
		m.RuntimeID = "there"
		h := newHarness(t, m).relaunching().run()
		h.store.set(func(r *database) { r.hanging = "get" })
		h.advance(36 * time.Second)
		h.sup.BeginShutdown()
		h.store.set(func(r *database) { r.hanging = "" })
		h.advance(10 * time.Second)
		h.stop()
		h.release()
		if m := h.store.get("mon-a"); !m.ReservedUntil.IsZero() || m.Generation != 1 {
			t.Errorf("it became %+v", m)
		}
	})

	scenario(t, "a database outage does not keep a gateway from stopping", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a")).run()
		h.sup.Start(newMonitor("mon-a"))
		h.advance(time.Second)
		h.stop()
		h.store.set(func(r *database) { r.down = true })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := h.sup.Release(ctx); err == nil {
			t.Error("no error")
		}
	})
}

// Section 10.4.
func TestAnOrderlyRestartIsReported(t *testing.T) {
	scenario(t, "the report counts the monitors that the stopped gateway has handed over", func(t *testing.T) {
		ids := []monitor.ID{"mon-a", "mon-b", "mon-c"}
		h := newHarness(t, monitored("mon-a"), monitored("mon-b"), monitored("mon-c")).run(ids...)
		h.advance(time.Second)
		h.sup.BeginShutdown()
		h.stop()
		for _, id := range ids {
			h.launcher.exit(id, "exit status 0")
		}
		h.release()

		next := h.beside().run()
		active, known := next.sup.AwaitStart(t.Context())
		if active != 3 || !known {
			t.Errorf("%d monitors are active (known: %v), want 3", active, known)
		}
		next.advance(time.Second)
		next.expectCounts("active=3", "adopted=0", "resumed=3", "relaunched=0")
		if log := next.log.String(); strings.Contains(log, "reservation promoted") || strings.Count(log, "monitor resumed") != 3 {
			t.Errorf("the log says:\n%s", log)
		}
		for _, id := range ids {
			next.expectRunning(id, 2)
		}
	})

	scenario(t, "a gateway that stops while it asks for an orphan's monitor logs no error", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).run("mon-a")
		h.launcher.set(func(l *fakeLauncher) { l.running["mon-x"] = 1 })
		h.store.set(func(r *database) { r.hanging = "get" })
		h.advance(6 * time.Second)
		h.stop()
		if log := h.log.String(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "level=WARN") {
			t.Errorf("the log says:\n%s", log)
		}
	})
}
