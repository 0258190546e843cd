package watch_test

import (
	"encoding/json"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestASuccessorGoesOn(t *testing.T) { // S11
	for name, cut := range map[string]float64{
		"before the onset": 95, "while black and untold": 115, "while black and told": 145, "after the recovery": 175,
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, func(w *world) { w.black = []span{{100, 150}} }).from(50).until(cut).resume(3).until(300)
			if w.told(event.StreamStarted) != 1 || w.told(event.Blackout) != 1 || w.told(event.BlackoutRecovered) != 1 {
				t.Fatalf("got %v", w.events)
			}
			for _, e := range w.events {
				if a, ok := e.Data.(event.Alert); ok && abs(sec(a.StartedAt)-100) > 0.1 {
					t.Errorf("black since %v", sec(a.StartedAt))
				}
			}
		})
	}
	t.Run("at once", func(t *testing.T) { // S12
		w := scenario(t).from(100).until(205).resume(1).until(210)
		w.askedAt(watch.TaskResolve, span{205, 210}, 206)
		w.askedAt(watch.TaskPlaylist, span{205, 210}, 206)
		w.askedAt(watch.TaskSegment, span{205, 210}, 206)
	})
	t.Run("at once in an outage too", func(t *testing.T) {
		w := scenario(t, func(w *world) { w.noList = []span{{150, never}} }).from(100).until(245).resume(1).until(250)
		w.askedAt(watch.TaskPlaylist, span{245, 250}, 246, 246) // and where it is found anew
	})
	t.Run("at once however often a URL that has expired was handed on", func(t *testing.T) { // S7
		w := scenario(t, func(w *world) {
			w.qualities = []int{144}
			w.failure, w.fails = watch.FailureExpired, map[string][]span{"/1/": {{110, never}}}
			w.took[watch.TaskResolve] = 3
		}).from(99).until(111)
		for range 5 {
			w.resume(1)
			w.until(w.now + 1) // not long enough to find another
		}
		resumed := w.now + 1
		w.resume(1).until(200)
		w.askedAt(watch.TaskPlaylist, span{resumed, resumed + 4}, resumed, resumed+3)
		w.expect(emits(102, event.StreamStarted))
	})
	t.Run("and takes the pause for no standstill", func(t *testing.T) {
		for _, noPDT := range []bool{false, true} {
			scenario(t, func(w *world) { w.noPDT = noPDT }).from(100).until(200).resume(300).until(900).
				expect(emits(100, event.StreamStarted))
		}
	})
	t.Run("and takes the pause for no outage", func(t *testing.T) { // it may be a step of the clock
		scenario(t, func(w *world) { w.noList = []span{{150, 156}, {3755, 3765}} }).from(100).until(155).resume(3600).until(3900).
			expect(emits(100, event.StreamStarted))
		scenario(t, func(w *world) { w.noList = []span{{150, 156}}; w.black = []span{{130, 4000}} }).from(100).until(155).resume(3600).until(3900).
			expect(emits(100, event.StreamStarted), emits(3755, event.Blackout))
	})
	t.Run("but for an outage what was watched of it", func(t *testing.T) {
		scenario(t, func(w *world) { w.noList = []span{{150, never}} }).from(100).until(170).resume(3600).until(3900).
			expect(emits(100, event.StreamStarted), emits(3815, event.SegmentError)) // 150 to 165, and 45 s more
	})
	t.Run("and refuses what is no snapshot", func(t *testing.T) {
		if _, err := watch.Restore(rules(), json.RawMessage(`[1]`), at(0)); err == nil {
			t.Error("no error")
		}
	})
}
