package supervisor_test

import (
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

func TestAReservationThatIsPromotedOrEndedElsewhereGetsNoWorkerHere(t *testing.T) {
	for name, change := range map[string]func(*monitor.Monitor){
		"promoted by another gateway":       func(m *monitor.Monitor) { m.ReservedUntil, m.Generation = time.Time{}, 3 },
		"ended between claim and promotion": func(m *monitor.Monitor) { m.Status = monitor.Stopped },
	} {
		scenario(t, name, func(t *testing.T) {
			h := newHarness(t, newReservation("mon-a", time.Minute))
			h.store.failingID = "mon-a"
			h.run()
			h.advance(time.Minute + 100*time.Millisecond)
			h.store.change("mon-a", change)
			h.store.set(func(r *database) { r.failingID = ""; clear(r.calls) })
			h.advance(time.Minute)
			h.expectCalls()
			if n := h.store.asked("promote"); n != 1 {
				t.Errorf("its promotion was tried %d times, want 1", n)
			}
		})
	}
}
