package watch_test

import (
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// emitted counts the events of a type.
func (w *world) emitted(typ event.Type) int {
	n := 0
	for _, e := range w.events {
		if e.Type == typ {
			n++
		}
	}
	return n
}

func TestAConditionIsAlertedFromItsThresholdOn(t *testing.T) {
	for _, c := range []struct {
		rule   string
		typ    event.Type
		limit  float64 // seconds at which the event is due
		change func(w *world, lasts float64)
		until  float64
	}{
		{"6.3 a blackout", event.Blackout, 30, func(w *world, lasts float64) { w.black = []span{{100, 100 + lasts}} }, 300},
		{"6.4 a silence", event.Silence, 30, func(w *world, lasts float64) { w.silent = []span{{100, 100 + lasts}} }, 300},
		{"6.3 a blackout across unequal segments", event.Blackout, 30, func(w *world, lasts float64) {
			w.segment, w.black = 5, []span{{101.3, 101.3 + lasts}}
		}, 300},
		{"6.4 a silence without program time", event.Silence, 30, func(w *world, lasts float64) {
			w.noProgramTime, w.silent = true, []span{{100, 100 + lasts}}
		}, 300},
		{"6.6 a playlist that fails", event.SegmentError, 60, func(w *world, lasts float64) { w.playlistFails = []span{{110, 110 + lasts}} }, 400},
		{"6.6 a segment that fails", event.SegmentError, 60, func(w *world, lasts float64) { w.segmentsFail = []span{{110, 110 + lasts}} }, 400},
		{"S6 a playlist that stands still", event.SegmentError, 60, func(w *world, lasts float64) { w.stalls = []span{{110, 110 + lasts}} }, 400},
		{"S15 a watchdog that is blind", event.MonitorError, 300, func(w *world, lasts float64) {
			w.unanswered, w.playlistFails = []span{{110, 110 + lasts}}, []span{{110, 110 + lasts}}
		}, 800},
		{"7.3 a late start", event.StreamDelayed, 300, func(w *world, lasts float64) {
			w.rules.ScheduledStart, w.live.from = at(100), 100+lasts
		}, 800},
		{"A10 a reservation that expires", event.MonitorError, 300, func(w *world, lasts float64) {
			w.rules.ScheduledEnd, w.live.from = at(100), 100+lasts
		}, 800},
	} {
		// The watcher looks every 10 s or more often, so an alert may come that much
		// later. A threshold on media is exact.
		slack := 12.0
		if c.typ == event.Blackout || c.typ == event.Silence {
			slack = 0.2
		}
		for _, x := range []struct {
			name  string
			lasts float64
			want  int
		}{
			{"just short of it", c.limit - slack, 0},
			{"just over it", c.limit + slack, 1},
			{"far over it", 2*c.limit + 37, 1},
		} {
			t.Run(fmt.Sprintf("%s, %s", c.rule, x.name), func(t *testing.T) {
				w := scenario(t, func(w *world) { c.change(w, x.lasts) })
				w.from(50).until(c.until)
				if got := w.emitted(c.typ); got != x.want {
					w.t.Errorf("%s was emitted %d times after %v s, want %d", c.typ, got, x.lasts, x.want)
				}
			})
		}
	}
	t.Run("6.3 a blackout of exactly its threshold is alerted", func(t *testing.T) {
		w := scenario(t, func(w *world) { w.black = []span{{100, 130}} }).from(50).until(300)
		if w.emitted(event.Blackout) != 1 || w.emitted(event.BlackoutRecovered) != 1 {
			t.Errorf("got %v", w.events)
		}
	})
}

// The test steps a watcher itself, because a scenario counts in seconds.
func TestAThresholdIsExactToTheNanosecond(t *testing.T) {
	late := func(after float64) int {
		r := rules()
		r.ScheduledStart = at(0)
		w := watch.New(r, at(0))
		moment := at(after)
		n := 0
		for _, e := range w.Step(moment, watch.Resolution{Began: moment, State: watch.Upcoming}) {
			if _, ok := e.(watch.EventEmitted); ok {
				n++
			}
		}
		return n
	}
	for after, want := range map[float64]int{299.999999999: 0, 300: 0, 300.000000001: 1} { // 7.3: elapsed > tolerance
		if got := late(after); got != want {
			t.Errorf("7.3: %v s after the start: emitted %d times, want %d", after, got, want)
		}
	}
	blind := func(after float64, o watch.Observation) int {
		n := 0
		for _, e := range watch.New(rules(), at(0)).Step(at(after), o) {
			if _, ok := e.(watch.EventEmitted); ok {
				n++
			}
		}
		return n
	}
	for after, want := range map[float64]int{299.999999999: 0, 300: 1} { // S15
		if got := blind(after, watch.Resolution{Began: at(0), State: watch.Unreachable}); got != want {
			t.Errorf("S15: nothing learned for %v s: emitted %d times, want %d", after, got, want)
		}
	}
	for after, want := range map[float64]int{389.999999999: 0, 390: 1} { // S15, while every attempt waits
		if got := blind(after, watch.Tick{}); got != want {
			t.Errorf("S15: no attempt ended for %v s: emitted %d times, want %d", after, got, want)
		}
	}
}
