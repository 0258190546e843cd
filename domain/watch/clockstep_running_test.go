package watch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// setClock sets the watcher's clock forward by so many seconds, or back. The
// stream goes on as before.
func (w *world) setClock(step float64) *world {
	w.t.Helper()
	w.now += step
	w.delay += step
	w.live.from = -1e5
	w.step(watch.ClockStep{By: at(step).Sub(at(0))})
	return w
}

func TestAStepOfTheClockChangesNothingThatIsTold(t *testing.T) {
	for _, step := range []float64{-7200, -60, -5, 5, 60, 7200} {
		for _, noPDT := range []bool{false, true} {
			for name, cut := range map[string]float64{"before it is black": 55, "at its onset": 63, "once told": 95, "after it": 130} {
				t.Run(fmt.Sprintf("%+v s, without program time %v, %s", step, noPDT, name), func(t *testing.T) {
					set := func() *world {
						return scenario(t, func(w *world) {
							w.windowed, w.noPDT, w.black = 60, noPDT, []span{{60, 120}, {200, 260}}
						}).from(10)
					}
					want := tale(set().until(300))
					w := set().until(cut).setClock(step).until(300 + step)
					slack := 0.1
					if noPDT {
						slack = abs(step) + 8 // its times are the clock's
					}
					if got := tale(w); !alike(got, want, slack) {
						t.Errorf("told\n%sand by one clock\n%s", lines(got), lines(want))
					}
					if len(w.notes) != 1 || !strings.HasPrefix(w.notes[0], "The clock of this machine was set") {
						t.Errorf("it says %q", w.notes)
					}
				})
			}
		}
	}
}

func TestAStepOfTheClockNeitherHastensNorDelaysAnAlert(t *testing.T) {
	for name, tc := range map[string]struct {
		event event.Type
		fails func(w *world, s span)
		cut   float64
	}{
		"an outage": {event.SegmentError, func(w *world, s span) { w.noList = []span{s} }, 95},
		"blindness": {event.MonitorError, func(w *world, s span) { w.noList, w.mute = []span{s}, []span{s} }, 200},
	} {
		failing := func(w *world) *world { tc.fails(w, span{60, never}); return w.from(10) }
		toldAt := func(w *world) float64 {
			t.Helper()
			if w.told(tc.event) != 1 {
				t.Fatalf("%s was told %d times", name, w.told(tc.event))
			}
			return w.events[len(w.events)-1].at
		}
		want := toldAt(failing(scenario(t)).until(500))
		for _, step := range []float64{-7200, -60, 60, 7200} {
			t.Run(fmt.Sprintf("%s, %+v s", name, step), func(t *testing.T) {
				w := failing(scenario(t)).until(tc.cut)
				tc.fails(w, span{-1e6, never})
				w.setClock(step).until(500 + step)
				if got := toldAt(w) - step; got < want-1 || got > want+10 {
					t.Errorf("told at second %v, by one clock at %v", got, want)
				}
				for _, e := range w.events {
					o, ok := e.Data.(event.Outage)
					if ok && (abs(sec(o.StartedAt)-(60+step)) > 10 || o.DurationSec > 75) {
						t.Errorf("out since second %v for %d s", sec(o.StartedAt)-step, o.DurationSec)
					}
				}
			})
		}
	}
}

// TestAMachineThatWasSuspendedTellsNothingOfThat has the stream go on while
// nobody watches: the clock is put forward, and so is the stream.
func TestAMachineThatWasSuspendedTellsNothingOfThat(t *testing.T) {
	for _, noPDT := range []bool{false, true} {
		w := scenario(t, func(w *world) { w.noPDT = noPDT }).from(100).until(200)
		w.now += 7200
		w.step(watch.ClockStep{By: at(7200).Sub(at(0))})
		w.until(8000).expect(emits(100, event.StreamStarted))
	}
}
