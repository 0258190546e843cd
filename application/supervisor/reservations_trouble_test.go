package supervisor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestReservationsSurviveDatabaseOutages(t *testing.T) {
	scenario(t, "a reservation that falls due during an outage is promoted after it", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Minute)).run()
		defer h.stop()
		h.advance(50 * time.Second)
		h.store.set(func(r *fakeStore) { r.down, r.claims = true, 0 })
		h.advance(10 * time.Minute)
		if h.store.claims > 30 {
			t.Errorf("asked %d times in 10 minutes", h.store.claims)
		}
		h.store.set(func(r *fakeStore) { r.down = false })
		h.advance(31 * time.Second)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "a reservation whose claim was not answered is claimed again", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Minute)).run()
		defer h.stop()
		h.advance(59*time.Second + 500*time.Millisecond)
		h.store.set(func(r *fakeStore) { r.lostAnswers.claim = 1 })
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
		defer h.stop()
		h.advance(2 * time.Minute)
		h.expectCalls("launch mon-a 2")
		h.expectActive("mon-a")
	})

	scenario(t, "an outage that is over does not prolong the backoff of the next", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Hour)).run()
		defer h.stop()
		h.store.set(func(r *fakeStore) { r.down = true })
		h.advance(10 * time.Minute)
		h.store.set(func(r *fakeStore) { r.down = false })
		h.advance(50*time.Minute - 1500*time.Millisecond)
		h.store.set(func(r *fakeStore) { r.down = true })
		h.advance(time.Second)
		h.store.set(func(r *fakeStore) { r.down = false })
		h.advance(1500 * time.Millisecond)
		h.expectCalls("launch mon-a 2")
	})

	for what, want := range map[string]string{"due": "launch mon-a 2", "promote": "launch mon-a 3"} { // due again meanwhile
		scenario(t, "a "+what+" that hangs is repeated", func(t *testing.T) {
			h := newHarness(t, newReservation("mon-a", time.Second))
			h.store.hanging = what
			h.run()
			defer h.stop()
			h.advance(5 * time.Second)
			h.store.set(func(r *fakeStore) { r.hanging = "" })
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
		one := newHarness(t, all...)
		two := newHarness(t)
		two.store, two.launcher.runtime.ID = one.store, "there"
		sup, err := supervisor.New(one.store, two.launcher, supervisor.Config{NewEventID: func() string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		two.sup = sup
		one.run()
		two.run()
		defer one.stop()
		defer two.stop()
		one.advance(time.Hour + 20*time.Second)
		calls := append(one.launcher.requests(), two.launcher.requests()...)
		slices.Sort(calls)
		if n := len(calls); n != 100 || len(slices.Compact(calls)) != 100 {
			t.Errorf("%d launches, want one for each of 100", n)
		}
	})

	scenario(t, "a reservation whose gateway died after the claim is promoted by another", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Minute)).run()
		defer h.stop()
		h.advance(59*time.Second + 999*time.Millisecond)
		h.store.set(func(r *fakeStore) {
			m := r.monitors["mon-a"]
			m.ReservedUntil, m.Generation = m.ReservedUntil.Add(30*time.Second), 2 // taken by the other
			r.monitors["mon-a"] = m
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
		defer h.stop()
		h.advance(time.Minute + 100*time.Millisecond)
		h.store.set(func(r *fakeStore) {
			m := r.monitors["mon-a"]
			m.ReservedUntil, m.Generation = time.Time{}, 3 // taken and promoted by the other
			r.monitors["mon-a"] = m
			r.failingID, r.promotions = "", 0
		})
		h.advance(time.Minute)
		h.expectCalls()
		if n := h.store.promotions; n != 1 {
			t.Errorf("its promotion was tried %d times, want 1", n)
		}
	})

	scenario(t, "a restarted gateway launches promoted monitors and no reservations", func(t *testing.T) {
		promoted := newReservation("mon-a", 0)
		promoted.ReservedUntil, promoted.Generation, promoted.RuntimeID = time.Time{}, 2, "here"
		h := newHarness(t, promoted, newReservation("mon-b", time.Hour)).run()
		defer h.stop()
		h.sup.AwaitStart(t.Context())
		h.advance(time.Second)
		h.expectCalls("launch mon-a 3")
	})
}
