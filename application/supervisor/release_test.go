package supervisor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAStoppingGatewayReleasesItsMonitors(t *testing.T) {
	scenario(t, "a registered monitor gets its worker at once, in its first generation", func(t *testing.T) {
		m := newReservation("mon-a", 30*time.Second)
		h := newHarness(t, m).run()
		defer h.stop()
		h.advance(time.Minute)
		m.ReservedUntil = time.Now().Add(30 * time.Second)
		h.store.set(func(r *fakeStore) { r.monitors["mon-b"] = withID(m, "mon-b") })
		h.sup.Start(withID(m, "mon-b"))
		h.advance(0)
		h.expectCalls("launch mon-a 2", "launch mon-b 1")
		h.reportFor(time.Hour, "mon-a", "mon-b")
		h.expectCalls("launch mon-a 2", "launch mon-b 1")
	})

	scenario(t, "a monitor whose gateway died after the registration is started by another", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", 30*time.Second)).run()
		defer h.stop()
		h.advance(30*time.Second - time.Millisecond)
		h.expectCalls()
		h.advance(time.Millisecond)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "monitors that a stopping gateway releases are resumed by another", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a"), newMonitor("mon-b"), newMonitor("mon-c")).run()
		for _, id := range []monitor.ID{"mon-a", "mon-b", "mon-c"} {
			h.sup.Start(h.store.get(id))
			h.advance(time.Second)
		}
		h.sup.Stop("mon-b")                                                                                   // its end is not stored yet
		h.store.set(func(r *fakeStore) { m := r.monitors["mon-c"]; m.Generation++; r.monitors["mon-c"] = m }) // taken over
		h.advance(time.Second)
		h.stop()
		close(h.launcher.exits)
		if err := h.sup.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := newHarnessOn(t, h.store).run()
		defer other.stop()
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
		if m := h.store.get("mon-quick"); m.ReservedUntil.IsZero() {
			t.Error("it waits for the other")
		}
		if m := h.store.get("mon-slow"); !m.ReservedUntil.IsZero() {
			t.Error("it is given back while its worker runs")
		}
		h.launcher.exit("mon-slow", "killed by SIGKILL")
		h.advance(time.Second)
		close(h.launcher.exits)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if m := h.store.get("mon-slow"); m.ReservedUntil.IsZero() {
			t.Error("it is not given back")
		}
	})

	scenario(t, "a monitor whose worker was not adopted yet is released, too", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).run()
		h.launcher.set(func(l *fakeLauncher) { l.running["mon-a"] = 1 })
		h.sup.BeginShutdown()
		h.stop()
		h.launcher.exit("mon-a", "exit status 0")
		close(h.launcher.exits)
		if err := h.sup.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m := h.store.get("mon-a"); m.ReservedUntil.IsZero() {
			t.Error("it is not given back")
		}
	})

	scenario(t, "in a shared runtime workers go on, and only monitors not launched yet are released", func(t *testing.T) {
		here := newFakeLauncher()
		here.runtime.Shared = true
		all := newFakeStore(monitored("mon-runs"), newMonitor("mon-waits"), monitored("mon-lost"), monitored("mon-elsewhere"))
		here.running["mon-elsewhere"] = 1
		h := newHarnessWith(t, all, here, relaunchPolicy).run("mon-runs", "mon-lost")
		h.advance(time.Second)
		here.set(func(l *fakeLauncher) { l.launchFailures = 100 })
		h.sup.Start(h.store.get("mon-waits"))
		h.advance(time.Second)
		h.sup.BeginShutdown()
		here.exit("mon-lost", "evicted")
		h.advance(0)
		h.stop()
		close(here.exits)
		if err := h.sup.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[monitor.ID]bool{"mon-runs": false, "mon-waits": true, "mon-lost": false, "mon-elsewhere": false} {
			if got := !all.get(id).ReservedUntil.IsZero(); got != want {
				t.Errorf("%s is given back: %v", id, got)
			}
		}
	})

	scenario(t, "a worker that is being replaced at the end is released in its new generation", func(t *testing.T) {
		for _, shared := range []bool{false, true} {
			here := newFakeLauncher()
			here.runtime.Shared = shared
			all := newFakeStore(monitored("mon-a"))
			all.advanceTime = time.Second
			h := newHarnessWith(t, all, here, relaunchPolicy).run("mon-a")
			h.advance(time.Second)
			here.exit("mon-a", "killed by SIGKILL")
			h.advance(1500 * time.Millisecond)
			h.stop()
			close(here.exits)
			if err := h.sup.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			if m := all.get("mon-a"); m.ReservedUntil.IsZero() || m.Generation != 2 {
				t.Errorf("shared runtime %v: it became %+v", shared, m)
			}
		}
	})

	scenario(t, "no worker is missed after BeginShutdown", func(t *testing.T) {
		h := newHarness(t, monitored("mon-a")).run("mon-a")
		h.advance(time.Second)
		h.sup.BeginShutdown()
		h.launcher.exit("mon-a", "killed by SIGTERM")
		h.store.set(func(r *fakeStore) { r.monitors["mon-b"] = monitored("mon-b") }) // it is missing
		defer h.stop()
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
		close(h.launcher.exits)
		if err := h.sup.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m := h.store.get("mon-a"); m.ReservedUntil.IsZero() {
			t.Error("it is not given back")
		}
		if m := h.store.get("mon-b"); m.Status != monitor.Completed || !m.ReservedUntil.IsZero() {
			t.Errorf("what has ended became %+v", m)
		}
		other := newHarnessOn(t, h.store).run()
		defer other.stop()
		other.advance(2 * time.Second)
		other.expectCalls("launch mon-a 2")
		other.expectActive("mon-a")
	})

	scenario(t, "a monitor of another runtime whose lease expires at BeginShutdown is not released", func(t *testing.T) {
		m := monitored("mon-a")
		m.RuntimeID = "there"
		h := newHarnessOn(t, newFakeStore(m), relaunchPolicy).run()
		h.store.set(func(r *fakeStore) { r.hanging = "get" })
		h.advance(36 * time.Second)
		h.sup.BeginShutdown()
		h.store.set(func(r *fakeStore) { r.hanging = "" })
		h.advance(10 * time.Second)
		h.stop()
		close(h.launcher.exits)
		if err := h.sup.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m := h.store.get("mon-a"); !m.ReservedUntil.IsZero() || m.Generation != 1 {
			t.Errorf("it became %+v", m)
		}
	})

	scenario(t, "a database outage does not keep a gateway from stopping", func(t *testing.T) {
		h := newHarness(t, newMonitor("mon-a")).run()
		h.sup.Start(newMonitor("mon-a"))
		h.advance(time.Second)
		h.stop()
		h.store.set(func(r *fakeStore) { r.down = true })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := h.sup.Release(ctx); err == nil {
			t.Error("no error")
		}
	})
}

func withID(m monitor.Monitor, id monitor.ID) monitor.Monitor {
	m.ID = id
	return m
}
