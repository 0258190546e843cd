package supervisor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestHandingOver(t *testing.T) {
	scenario(t, "a monitor that its gateway has just registered is promoted at once, in its first generation", func(t *testing.T) {
		m := reserved("mon-a", 30*time.Second)
		h := newHouse(t, m).promoting()
		defer h.close()
		h.after(time.Hour)
		m.ReservedUntil = time.Now().Add(30 * time.Second)
		h.roster.set(func(r *roster) { r.monitors["mon-b"] = withID(m, "mon-b") })
		h.sup.Start(withID(m, "mon-b"))
		h.after(0)
		h.expectCalls("launch mon-a 2", "launch mon-b 1")
		h.after(time.Hour)
		h.expectCalls("launch mon-a 2", "launch mon-b 1")
	})

	scenario(t, "one that a gateway has registered, and did not come to start, is started by another", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", 30*time.Second)).promoting()
		defer h.close()
		h.after(30*time.Second - time.Millisecond)
		h.expectCalls()
		h.after(time.Millisecond)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "what a gateway gives back when it stops is taken by another", func(t *testing.T) {
		h := newHouse(t, registered("mon-a"), registered("mon-b"), registered("mon-c")).open()
		for _, id := range []monitor.ID{"mon-a", "mon-b", "mon-c"} {
			h.sup.Start(h.roster.get(id))
			h.after(time.Second)
		}
		h.sup.Stop("mon-b")                                                                                 // and its end is not stored yet
		h.roster.set(func(r *roster) { m := r.monitors["mon-c"]; m.Generation++; r.monitors["mon-c"] = m }) // taken over
		h.after(time.Second)
		h.close()
		close(h.launcher.exits)
		if err := h.sup.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := houseOf(t, h.roster).promoting()
		defer other.close()
		other.after(2 * time.Second)
		other.expectCalls("launch mon-a 2")
	})

	scenario(t, "each monitor is given back when its own worker has ended", func(t *testing.T) {
		h := newHouse(t, registered("mon-quick"), registered("mon-slow")).open()
		h.sup.Start(h.roster.get("mon-quick"))
		h.sup.Start(h.roster.get("mon-slow"))
		h.after(time.Second)
		h.sup.BeginShutdown()
		h.close()
		done := make(chan error)
		go func() { done <- h.sup.Release(t.Context()) }()
		h.launcher.dies("mon-quick", "exit status 0")
		h.after(time.Second)
		if m := h.roster.get("mon-quick"); m.ReservedUntil.IsZero() {
			t.Error("it waits for the other")
		}
		if m := h.roster.get("mon-slow"); !m.ReservedUntil.IsZero() {
			t.Error("it is given back while its worker runs")
		}
		h.launcher.dies("mon-slow", "killed by SIGKILL")
		h.after(time.Second)
		close(h.launcher.exits)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if m := h.roster.get("mon-slow"); m.ReservedUntil.IsZero() {
			t.Error("it is not given back")
		}
	})

	scenario(t, "so is one whose worker this gateway has not come to adopt", func(t *testing.T) {
		h := newHouse(t, watched("mon-a")).open()
		h.launcher.set(func(l *launcher) { l.running["mon-a"] = 1 })
		h.sup.BeginShutdown()
		h.close()
		h.launcher.dies("mon-a", "exit status 0")
		close(h.launcher.exits)
		if err := h.sup.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m := h.roster.get("mon-a"); m.ReservedUntil.IsZero() {
			t.Error("it is not given back")
		}
	})

	scenario(t, "at a shared place workers go on, and only what was not launched is given back", func(t *testing.T) {
		here := newLauncher()
		here.place.Shared = true
		all := newRoster(watched("mon-runs"), registered("mon-waits"), watched("mon-lost"), watched("mon-elsewhere"))
		here.running["mon-elsewhere"] = 1
		h := houseWith(t, all, here, relaunching).open()
		h.sup.Start(h.roster.get("mon-runs"))
		h.sup.Start(h.roster.get("mon-lost"))
		h.after(time.Second)
		here.set(func(l *launcher) { l.failing = 100 })
		h.sup.Start(h.roster.get("mon-waits"))
		h.after(time.Second)
		h.sup.BeginShutdown()
		here.dies("mon-lost", "evicted")
		h.after(0)
		h.close()
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

	scenario(t, "who has retired misses nobody", func(t *testing.T) {
		h := newHouse(t, watched("mon-a"), watched("mon-b")).open()
		h.sup.Start(h.roster.get("mon-a"))
		h.after(time.Second)
		h.sup.BeginShutdown()
		h.launcher.dies("mon-a", "killed by SIGTERM")
		h.sup.Reconcile(t.Context()) // mon-b is missing
		h.looking()
		defer h.close()
		h.after(5 * time.Minute)
		h.expectActive("mon-a")
		h.expectActive("mon-b")
		h.expectCalls("launch mon-a 1")
	})

	scenario(t, "whose worker is lost after that is given back", func(t *testing.T) {
		h := newHouse(t, watched("mon-a"), watched("mon-b")).open()
		h.sup.Start(h.roster.get("mon-a"))
		h.sup.Start(h.roster.get("mon-b"))
		h.after(time.Second)
		h.sup.BeginShutdown()
		h.launcher.dies("mon-a", "exit status 2")
		h.roster.reports("mon-b", monitor.Completed)
		h.launcher.dies("mon-b", "exit status 0")
		h.after(10 * time.Second) // requests are answered until their end
		h.close()
		close(h.launcher.exits)
		if err := h.sup.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m := h.roster.get("mon-a"); m.ReservedUntil.IsZero() {
			t.Error("it is not given back")
		}
		if m := h.roster.get("mon-b"); m.Status != monitor.Completed || !m.ReservedUntil.IsZero() {
			t.Errorf("what has ended became %+v", m)
		}
		other := houseOf(t, h.roster).promoting()
		defer other.close()
		other.after(2 * time.Second)
		other.expectCalls("launch mon-a 2")
		other.expectActive("mon-a")
	})

	scenario(t, "silence elsewhere that is looked into when it retires is not its to give back", func(t *testing.T) {
		m := watched("mon-a")
		m.RuntimeID = "there"
		h := houseOf(t, newRoster(m), relaunching).open().looking()
		h.roster.set(func(r *roster) { r.hangs = "get" })
		h.after(36 * time.Second)
		h.sup.BeginShutdown()
		h.roster.set(func(r *roster) { r.hangs = "" })
		h.after(10 * time.Second)
		h.close()
		close(h.launcher.exits)
		if err := h.sup.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m := h.roster.get("mon-a"); !m.ReservedUntil.IsZero() || m.Generation != 1 {
			t.Errorf("it became %+v", m)
		}
	})

	scenario(t, "a database that stays away keeps nobody from stopping", func(t *testing.T) {
		h := newHouse(t, registered("mon-a")).open()
		h.sup.Start(registered("mon-a"))
		h.after(time.Second)
		h.close()
		h.roster.set(func(r *roster) { r.down = true })
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
