package watch_test

import (
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// underAnotherClock lets the watcher die and a successor go on 2 s later by a
// clock that differs from the watcher's by so many seconds.
func (w *world) underAnotherClock(step float64) *world {
	w.kept, w.keptOf = w.snapshot(), len(w.events)
	w.now += step
	w.delay += step // the stream's own time goes on as before
	w.live.from = -1e5
	return w.die(2)
}

func TestASuccessorByAnotherClockMissesNothing(t *testing.T) {
	for _, step := range []float64{-3600, -60, -20, -5, 5, 60, 3600} {
		for _, noPDT := range []bool{false, true} {
			for name, cut := range map[string]float64{"before": 55, "at its begin": 65, "once told": 95, "after": 130} {
				t.Run(fmt.Sprintf("%+v s, without program time %v, %s", step, noPDT, name), func(t *testing.T) {
					set := func() *world {
						return scenario(t, func(w *world) {
							w.windowed, w.noPDT, w.black = 60, noPDT, []span{{60, 120}, {200, 260}}
						}).from(10)
					}
					want := tale(set().until(300))
					w := set().until(cut).underAnotherClock(step).until(300 + step)
					slack := 0.1
					if noPDT {
						slack = abs(step) + 8 // its times are the clock's
					}
					if got := tale(w); !alike(got, want, slack) {
						t.Errorf("told\n%sand by one clock\n%s", lines(got), lines(want))
					}
					for _, note := range w.notes {
						t.Errorf("it says: %s", note)
					}
				})
			}
		}
	}
}

func TestAnOutageByAnotherClock(t *testing.T) {
	for _, step := range []float64{-3600, -60, 60, 3600} {
		t.Run(fmt.Sprintf("%+v s", step), func(t *testing.T) {
			w := scenario(t, func(w *world) { w.noList = []span{{60, never}} }).from(10).until(95)
			w.noList = []span{{-1e6, never}}
			w.underAnotherClock(step).until(145 + step)
			if w.told(event.SegmentError) != 1 {
				t.Errorf("told %d times by second 145", w.told(event.SegmentError))
			}
		})
	}
}
