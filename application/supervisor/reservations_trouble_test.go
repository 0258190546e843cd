package supervisor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestReservationsWithADatabaseInTrouble(t *testing.T) {
	scenario(t, "one that comes due while it is away is promoted when it is back", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", time.Minute)).promoting()
		defer h.close()
		h.after(50 * time.Second)
		h.roster.set(func(r *roster) { r.down, r.looks = true, 0 })
		h.after(10 * time.Minute)
		if h.roster.looks > 30 {
			t.Errorf("asked %d times in 10 minutes", h.roster.looks)
		}
		h.roster.set(func(r *roster) { r.down = false })
		h.after(31 * time.Second)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "one whose taking was not heard of is taken again", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", time.Minute)).promoting()
		defer h.close()
		h.after(59*time.Second + 500*time.Millisecond)
		h.roster.set(func(r *roster) { r.lost.due = 1 })
		h.after(time.Second)
		h.expectCalls()
		h.after(10 * time.Second)
		h.expectCalls("launch mon-a 3")
		h.expectActive("mon-a")
	})

	scenario(t, "one whose promotion was not heard of gets its worker, once", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", time.Minute))
		h.roster.lost.promote = 3
		h.promoting()
		defer h.close()
		h.after(2 * time.Minute)
		h.expectCalls("launch mon-a 2")
		h.expectActive("mon-a")
	})

	scenario(t, "trouble that has passed makes no later one last longer", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", time.Hour)).promoting()
		defer h.close()
		h.roster.set(func(r *roster) { r.down = true })
		h.after(10 * time.Minute)
		h.roster.set(func(r *roster) { r.down = false })
		h.after(50*time.Minute - 1500*time.Millisecond)
		h.roster.set(func(r *roster) { r.down = true })
		h.after(time.Second)
		h.roster.set(func(r *roster) { r.down = false })
		h.after(1500 * time.Millisecond)
		h.expectCalls("launch mon-a 2")
	})

	for what, want := range map[string]string{"due": "launch mon-a 2", "promote": "launch mon-a 3"} { // due again meanwhile
		scenario(t, "one that does not answer "+what+" is asked again", func(t *testing.T) {
			h := newHouse(t, reserved("mon-a", time.Second))
			h.roster.hangs = what
			h.promoting()
			defer h.close()
			h.after(5 * time.Second)
			h.roster.set(func(r *roster) { r.hangs = "" })
			h.after(time.Minute)
			h.expectCalls(want)
		})
	}
}

func TestReservationsOfSeveralGateways(t *testing.T) {
	scenario(t, "each is promoted by one of them", func(t *testing.T) {
		var all []monitor.Monitor
		for i := range 100 {
			all = append(all, reserved(monitor.ID(fmt.Sprintf("mon-%03d", i)), time.Hour))
		}
		one := newHouse(t, all...)
		two := newHouse(t)
		two.roster = one.roster
		sup, err := supervisor.New(one.roster, two.launcher, supervisor.Config{NewEventID: func() string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		two.sup = sup
		one.promoting()
		two.promoting()
		defer one.close()
		defer two.close()
		one.after(2 * time.Hour)
		calls := append(one.launcher.seen(), two.launcher.seen()...)
		slices.Sort(calls)
		if n := len(calls); n != 100 || len(slices.Compact(calls)) != 100 {
			t.Errorf("%d launches, want one for each of 100", n)
		}
	})

	scenario(t, "one that a gateway took before it died is promoted by another", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", time.Minute)).promoting()
		defer h.close()
		h.after(59*time.Second + 999*time.Millisecond)
		h.roster.set(func(r *roster) {
			m := r.monitors["mon-a"]
			m.ReservedUntil, m.Generation = m.ReservedUntil.Add(30*time.Second), 2 // taken by the other
			r.monitors["mon-a"] = m
		})
		h.after(30 * time.Second)
		h.expectCalls()
		h.after(time.Second)
		h.expectCalls("launch mon-a 3")
	})

	scenario(t, "one that another gateway took because this one was too slow is left to it", func(t *testing.T) {
		h := newHouse(t, reserved("mon-a", time.Minute))
		h.roster.stuck = "mon-a"
		h.promoting()
		defer h.close()
		h.after(time.Minute + 100*time.Millisecond)
		h.roster.set(func(r *roster) {
			m := r.monitors["mon-a"]
			m.ReservedUntil, m.Generation = time.Time{}, 3 // taken and promoted by the other
			r.monitors["mon-a"] = m
			r.stuck, r.tries = "", 0
		})
		h.after(time.Hour)
		h.expectCalls()
		if n := h.roster.tries; n != 1 {
			t.Errorf("its promotion was tried %d times, want 1", n)
		}
	})

	scenario(t, "a restarted gateway starts what was promoted but never launched, and not what is reserved", func(t *testing.T) {
		promoted := reserved("mon-a", 0)
		promoted.ReservedUntil, promoted.Generation, promoted.RuntimeID = time.Time{}, 2, "here"
		h := newHouse(t, promoted, reserved("mon-b", time.Hour)).open()
		defer h.close()
		h.sup.Reconcile(t.Context())
		h.after(time.Second)
		h.expectCalls("launch mon-a 3")
	})
}
