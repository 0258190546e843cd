package supervisor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// reserved is a monitor that gets its worker so much later.
func reserved(id monitor.ID, in time.Duration) monitor.Monitor {
	m := registered(id)
	m.Status, m.StreamStatus, m.ReservedUntil = monitor.Waiting, monitor.StreamUpcoming, time.Now().Add(in)
	return m
}

// promoting opens the house and gives reservations their workers.
func (h *house) promoting() *house {
	h.open()
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() { h.sup.Promote(ctx); close(done) }()
	closeRun := h.close
	h.close = func() { cancel(); <-done; closeRun() }
	return h
}

// Decision A10.
func TestReservations(t *testing.T) {
	scenario(t, "a reservation gets its worker when its time has come, not before", func(t *testing.T) {
		const in = 10*time.Hour + 321*time.Millisecond
		h := newHouse(t, reserved("mon-a", in)).promoting()
		defer h.close()
		h.after(in - time.Millisecond)
		h.expectCalls()
		h.after(time.Millisecond)
		h.expectCalls("launch mon-a 2")
		h.after(time.Hour)
		h.expectCalls("launch mon-a 2")
		h.expectActive("mon-a")
		if !h.roster.get("mon-a").ReservedUntil.IsZero() {
			t.Error("it is still reserved")
		}
		if !strings.Contains(h.log.String(), "mon-a") {
			t.Error("the log does not tell")
		}
	})

	scenario(t, "one that came due while no gateway ran is promoted at once", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", -time.Hour)).promoting()
		defer h.close()
		h.after(0)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "one that another gateway has made meanwhile is found in time", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", 24*time.Hour)).promoting()
		defer h.close()
		h.after(time.Hour)
		const in = 5*time.Second + 321*time.Millisecond
		late := reserved("mon-b", in)
		h.roster.set(func(r *roster) { r.monitors["mon-b"] = late })
		h.after(in - time.Millisecond)
		h.expectCalls()
		h.after(time.Millisecond)
		h.expectCalls("launch mon-b 2")
	})

	scenario(t, "one made for a moment before the next look is promoted at that look", func(t *testing.T) {
		h := newHouse(t).promoting()
		defer h.close()
		h.after(time.Hour + time.Millisecond)
		h.roster.set(func(r *roster) { r.monitors["mon-a"] = reserved("mon-a", time.Millisecond) })
		h.after(time.Second)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "the database is not asked more than once a second", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", 24*time.Hour)).promoting()
		defer h.close()
		h.after(time.Hour)
		if h.roster.looks > 3601 {
			t.Errorf("%d looks in an hour", h.roster.looks)
		}
	})

	scenario(t, "one that is ended before its time gets no worker", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", time.Hour)).promoting()
		defer h.close()
		h.after(time.Minute)
		h.roster.ends("mon-a")
		h.sup.Stop("mon-a")
		h.after(2 * time.Hour)
		h.expectCalls("stop mon-a")
	})

	scenario(t, "one that is ended between being taken and being promoted gets no worker", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", time.Minute))
		h.roster.stuck = "mon-a"
		h.promoting()
		defer h.close()
		h.after(time.Minute + 500*time.Millisecond)
		h.roster.set(func(r *roster) { r.stuck = "" })
		h.roster.ends("mon-a")
		h.roster.set(func(r *roster) { r.tries = 0 })
		h.after(time.Hour)
		h.expectCalls()
		if n := h.roster.tries; n != 1 {
			t.Errorf("its promotion was tried %d times after its end, want 1", n)
		}
	})

	scenario(t, "one that somebody else has hold of is looked for until it can be had", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", time.Minute))
		h.roster.locked = true
		h.promoting()
		defer h.close()
		h.after(time.Minute)
		h.roster.set(func(r *roster) { r.looks = 0 })
		h.after(10 * time.Second)
		h.expectCalls()
		if n := h.roster.looks; n > 100 {
			t.Errorf("%d looks in 10 s", n)
		}
		h.roster.set(func(r *roster) { r.locked = false })
		h.after(100 * time.Millisecond)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "more than are given at once are all promoted soon", func(t *testing.T) {
		var all []monitor.Monitor
		for i := range 50 {
			all = append(all, reserved(monitor.ID(fmt.Sprintf("mon-%02d", i)), time.Hour))
		}
		h := newHouse(t, all...).promoting()
		defer h.close()
		h.after(time.Hour + time.Second)
		calls := h.launcher.seen()
		slices.Sort(calls)
		if calls = slices.Compact(calls); len(calls) != 50 || len(h.launcher.seen()) != 50 {
			t.Errorf("%d launches of %d monitors, want 50 of 50", len(h.launcher.seen()), len(calls))
		}
	})

	scenario(t, "one that cannot be promoted delays no other", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", time.Minute), reserved("mon-b", time.Minute))
		h.roster.stuck = "mon-a"
		h.promoting()
		defer h.close()
		h.after(time.Minute)
		h.expectCalls("launch mon-b 2")
		h.after(time.Hour)
		h.expectCalls("launch mon-b 2")
		if n := h.roster.tries; n > 1000 {
			t.Errorf("%d attempts in an hour", n)
		}
		h.roster.set(func(r *roster) { r.stuck = "" })
		h.after(time.Minute)
		if g := h.launcher.generation("mon-a"); g == 0 {
			t.Error("and it is not promoted when it could be")
		}
		h.expectActive("mon-a")
	})
}
