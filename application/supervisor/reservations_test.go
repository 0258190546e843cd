package supervisor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Decision A10.
func TestReservationsAreStartedOnTime(t *testing.T) {
	scenario(t, "a reservation gets its worker when it is due, not before", func(t *testing.T) {
		const in = 10*time.Hour + 321*time.Millisecond
		h := newHarness(t, newReservation("mon-a", in)).run()
		h.advance(in - time.Millisecond)
		h.expectCalls()
		if n := h.store.asked("due"); n > 36001 {
			t.Errorf("the database was asked %d times in 10 hours", n)
		}
		h.advance(time.Millisecond)
		h.expectCalls("launch mon-a 2")
		h.reportFor(time.Hour, "mon-a")
		h.expectCalls("launch mon-a 2")
		h.expectActive("mon-a")
		if !h.store.get("mon-a").ReservedUntil.IsZero() {
			t.Error("it is still reserved")
		}
		if !strings.Contains(h.log.String(), "mon-a") {
			t.Error("the log does not tell")
		}
	})

	scenario(t, "a reservation made by another gateway is promoted on time", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", 24*time.Hour)).run()
		h.advance(time.Hour)
		const in = 5*time.Second + 321*time.Millisecond
		late := newReservation("mon-b", in)
		h.store.add(late)
		h.advance(in - time.Millisecond)
		h.expectCalls()
		h.advance(time.Millisecond)
		h.expectCalls("launch mon-b 2")
		h.store.add(newReservation("mon-c", time.Millisecond)) // due before the next poll
		h.advance(time.Second)
		h.expectCalls("launch mon-b 2", "launch mon-c 2")
	})

	scenario(t, "a locked reservation is polled until it can be claimed", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Minute))
		h.store.locked = true
		h.run()
		h.advance(time.Minute)
		h.store.set(func(r *database) { clear(r.calls) })
		h.advance(10 * time.Second)
		h.expectCalls()
		if n := h.store.asked("due"); n > 100 {
			t.Errorf("%d looks in 10 s", n)
		}
		h.store.set(func(r *database) { r.locked = false })
		h.advance(100 * time.Millisecond)
		h.expectCalls("launch mon-a 2")
	})

	scenario(t, "all that are due are promoted at once, though one claim returns eight", func(t *testing.T) {
		var all []monitor.Monitor
		for i := range 20 {
			all = append(all, newReservation(monitor.ID(fmt.Sprintf("mon-%03d", i)), time.Hour))
		}
		h := newHarness(t, all...).run()
		h.advance(time.Hour)
		if n := len(h.launcher.requests()); n != 20 {
			t.Errorf("%d launches of 20", n)
		}
	})

	scenario(t, "no claim expires while many reservations are promoted slowly", func(t *testing.T) {
		var all []monitor.Monitor
		for i := range 500 {
			all = append(all, newReservation(monitor.ID(fmt.Sprintf("mon-%03d", i)), time.Minute))
		}
		h := newHarness(t, all...)
		h.store.promoteTime, h.store.maxClaims = 500*time.Millisecond, 32
		h.run()
		h.advance(time.Minute + 70*time.Second)
		for id := range h.store.monitors {
			if m := h.store.get(id); m.Generation != 2 || !m.ReservedUntil.IsZero() {
				t.Errorf("%s has generation %d, and is reserved until %v", id, m.Generation, m.ReservedUntil)
			}
		}
	})

	scenario(t, "a reservation that cannot be promoted delays no other", func(t *testing.T) {
		h := newHarness(t, newReservation("mon-a", time.Minute), newReservation("mon-b", time.Minute))
		h.store.failingID = "mon-a"
		h.run()
		h.advance(time.Minute)
		h.expectCalls("launch mon-b 2")
		h.reportFor(time.Hour, "mon-b")
		h.expectCalls("launch mon-b 2")
		if n := h.store.asked("promote"); n > 1500 { // four for each claim of 10 s
			t.Errorf("%d attempts in an hour", n)
		}
		h.store.set(func(r *database) { r.failingID = "" })
		h.reportFor(time.Minute, "mon-b")
		if g := h.launcher.generation("mon-a"); g == 0 {
			t.Error("and it is not promoted when it could be")
		}
		h.expectActive("mon-a")
	})
}

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
