package supervisor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestReservationsSurviveDatabaseOutages(t *testing.T) {
	scenario(t, "a reservation that falls due during an outage is promoted after it", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Minute)).run()
		h.advance(50 * time.Second)
		h.store.set(func(r *database) { r.down = true; clear(r.calls) })
		h.advance(10 * time.Minute)
		if h.store.asked("due") > 30 {
			t.Errorf("asked %d times in 10 minutes", h.store.asked("due"))
		}
		h.store.set(func(r *database) { r.down = false })
		h.advance(31 * time.Second)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "a reservation whose claim was not answered is claimed again", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Minute)).run()
		h.advance(59*time.Second + 500*time.Millisecond)
		h.store.set(func(r *database) { r.lostAnswers.claim = 1 })
		h.advance(time.Second)
		h.expectCalls()
		h.advance(10 * time.Second)
		h.expectCalls("launch mon-a 3")
		h.expectActive("mon-a")
	})

	scenario(t, "a reservation whose promotion was not answered gets one worker", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Minute))
		h.store.lostAnswers.promote = 3
		h.run()
		h.advance(2 * time.Minute)
		h.expectCalls("launch mon-a 2")
		h.expectActive("mon-a")
	})

	scenario(t, "an outage that is over does not prolong the backoff of the next", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Hour)).run()
		h.store.set(func(r *database) { r.down = true })
		h.advance(10 * time.Minute)
		h.store.set(func(r *database) { r.down = false })
		h.advance(50*time.Minute - 1500*time.Millisecond)
		h.store.set(func(r *database) { r.down = true })
		h.advance(time.Second)
		h.store.set(func(r *database) { r.down = false })
		h.advance(1500 * time.Millisecond)
		h.expectCalls("launch mon-a 2")
	})

	for what, want := range map[string]string{"due": "launch mon-a 2", "promote": "launch mon-a 3"} { // due again meanwhile
		scenario(t, "a "+what+" that hangs is repeated", func(t *testing.T) {
			h := newHarness(t, newReservation("mon-a", time.Second))
			h.store.hanging = what
			h.run()
			h.advance(5 * time.Second)
			h.store.set(func(r *database) { r.hanging = "" })
			h.advance(time.Minute)
			h.expectCalls(want)
		})
	}
}

func TestOneGatewayPromotesAReservation(t *testing.T) {
	scenario(t, "each reservation is promoted by one gateway", func(t *testing.T) {
		var all []monitor.Monitor
		for i := range 100 {
			all = append(all, newReservation(monitor.ID(fmt.Sprintf("mon-%03d", i)), time.Hour))
		}
		one := newHarness(t, all...).run()
		two := one.beside()
		two.launcher.runtime.ID = "there"
		two.run()
		one.advance(time.Hour + time.Second) // though one claim returns eight
		calls := append(one.launcher.requests(), two.launcher.requests()...)
		slices.Sort(calls)
		if n := len(calls); n != 100 || len(slices.Compact(calls)) != 100 {
			t.Errorf("%d launches, want one for each of 100", n)
		}
	})

	scenario(t, "a reservation whose gateway died after the claim is promoted by another", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Minute)).run()
		h.advance(59*time.Second + 999*time.Millisecond)
		h.store.change("mon-a", func(m *monitor.Monitor) {
			m.ReservedUntil, m.Generation = m.ReservedUntil.Add(30*time.Second), 2 // taken by the other
		})
		h.advance(30 * time.Second)
		h.expectCalls()
		h.advance(time.Second)
		h.expectCalls("launch mon-a 3")
	})

	scenario(t, "a reservation claimed by another gateway meanwhile is left to it", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Minute))
		h.store.failingID = "mon-a"
		h.run()
		h.advance(time.Minute + 100*time.Millisecond)
		h.store.change("mon-a", func(m *monitor.Monitor) { m.ReservedUntil, m.Generation = time.Time{}, 3 }) // the other has promoted it
		h.store.set(func(r *database) { r.failingID = ""; clear(r.calls) })
		h.advance(time.Minute)
		h.expectCalls()
		if n := h.store.asked("promote"); n != 1 {
			t.Errorf("its promotion was tried %d times, want 1", n)
		}
	})

	scenario(t, "a restarted gateway launches promoted monitors and no reservations", func(t *testing.T) {
		promoted := newReservation("mon-a", 0)
		promoted.ReservedUntil, promoted.Generation, promoted.RuntimeID = time.Time{}, 2, "here"
		h := newHarness(t, promoted, newReservation("mon-b", time.Hour)).started()
		h.advance(time.Second)
		h.expectCalls("launch mon-a 3")
	})
}
