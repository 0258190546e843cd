package watch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAResetOfProgramTimeChangesNoDuration(t *testing.T) { // S11
	for _, by := range []float64{-3600, -60, -5, 60, 3600} {
		for name, cuts := range map[string][]float64{"while it is watched": nil, "while nobody watches": {201, 204}} {
			t.Run(fmt.Sprintf("by %v s %s", by, name), func(t *testing.T) {
				scenario(t, black(300, 340), restarts(cuts...), func(w *world) { w.resetFrom, w.resetBy = 200, by }).from(100).restarting(500).
					expectDurations("100 started, 330 blackout for 30, 342 blackout_recovered for 40")
			})
		}
		t.Run(fmt.Sprintf("by %v s while it is black", by), func(t *testing.T) {
			scenario(t, checksEvery(2), black(100, never), func(w *world) { w.resetFrom, w.resetBy = 120, by }).from(50).until(500).
				expectDurations("50 started, 130 blackout for 30")
		})
	}
}

// expectDurations compares all emitted events, without onsets and ends.
func (w *world) expectDurations(want string) {
	w.t.Helper()
	var got []string
	for _, e := range w.events {
		words := strings.Fields(describe(e))
		text := strings.Join(words[:2], " ")
		for i, word := range words {
			if word == "for" {
				text += " for " + words[i+1]
			}
		}
		got = append(got, text)
	}
	if text := strings.Join(got, ", "); text != want {
		w.t.Errorf("emitted %s, want %s", text, want)
	}
}

// underAnotherClock ends the watcher. A successor goes on 2 s later. Its clock is
// ahead of the watcher's by step seconds.
func (w *world) underAnotherClock(step float64) *world {
	w.storedSnapshot, w.storedEvents = w.snapshot(), len(w.events)
	w.moveClock(step)
	return w.restart(2)
}

// setClock sets the watcher's clock forward by step seconds, or back if step is negative.
func (w *world) setClock(step float64) *world {
	w.t.Helper()
	w.moveClock(step)
	w.step(watch.ClockStep{By: at(step).Sub(at(0))})
	return w
}

// moveClock moves the clock. The stream is not affected.
func (w *world) moveClock(step float64) {
	w.now, w.delay, w.live.from = w.now+step, w.delay+step, -1e5
}

// clockChanges are the ways in which a watch may go on by another clock.
var clockChanges = map[string]struct {
	change func(w *world, step float64) *world
	logged int // how often the log names it
}{
	"the clock is set":              {(*world).setClock, 1},
	"a successor has another clock": {(*world).underAnotherClock, 0},
}

func TestAnotherClockChangesNoEvent(t *testing.T) {
	for how, c := range clockChanges {
		for _, step := range []float64{-7200, -60, -20, -5, 5, 60, 7200} {
			for _, noProgramTime := range []bool{false, true} {
				for name, cut := range map[string]float64{"before it is black": 55, "at its onset": 64, "after the alert": 95, "after it": 130} {
					t.Run(fmt.Sprintf("%s, %+v s, without program time %v, %s", how, step, noProgramTime, name), func(t *testing.T) {
						set := func() *world {
							return scenario(t, black(60, 120, 200, 260), func(w *world) { w.window, w.noProgramTime = 60, noProgramTime }).from(10)
						}
						want := outline(set().until(300))
						w := c.change(set().until(cut), step).until(300 + step)
						slack := 0.1
						if noProgramTime {
							slack = abs(step) + 8 // without program time, times follow the clock
						}
						if got := outline(w); !sameOutline(got, want, slack) {
							t.Errorf("emitted\n%sand with one clock\n%s", lines(got), lines(want))
						}
						if len(w.log) != c.logged || c.logged > 0 && !strings.HasPrefix(w.log[0].Message, "The clock of this machine was set") {
							t.Errorf("logged %+v", w.log)
						}
					})
				}
			}
		}
	}
}

func TestAnotherClockNeitherHastensNorDelaysAnAlert(t *testing.T) {
	for name, tc := range map[string]struct {
		event event.Type
		fails func(s ...float64) option
		cut   float64
	}{
		"an outage": {event.SegmentError, noPlaylist, 95},
		"blindness": {event.MonitorError, unobservable, 200},
	} {
		emittedAt := func(w *world) float64 {
			t.Helper()
			if w.emitted(tc.event) != 1 {
				t.Fatalf("%s was emitted %d times", name, w.emitted(tc.event))
			}
			return w.events[len(w.events)-1].at
		}
		want := emittedAt(scenario(t, tc.fails(60, never)).from(10).until(500))
		for how, c := range clockChanges {
			if c.logged == 0 && tc.event == event.MonitorError {
				continue // a successor that cannot observe counts the time before it
			}
			for _, step := range []float64{-7200, -60, 60, 7200} {
				t.Run(fmt.Sprintf("%s, %s, %+v s", name, how, step), func(t *testing.T) {
					w := scenario(t, tc.fails(60, never)).from(10).until(tc.cut)
					tc.fails(-1e6, never)(w)
					c.change(w, step).until(500 + step)
					late := 10.0
					if c.logged == 0 {
						late = 50 // a successor does not know how long nobody watched
					}
					if got := emittedAt(w) - step; got < want-1 || got > want+late {
						t.Errorf("emitted at second %v, with one clock at %v", got, want)
					}
					for _, e := range w.events {
						o, ok := e.Data.(event.Outage)
						if ok && c.logged > 0 && (abs(sec(o.StartedAt)-(60+step)) > 10 || o.DurationSec > 75) {
							t.Errorf("out since second %v for %d s", sec(o.StartedAt)-step, o.DurationSec)
						}
					}
				})
			}
		}
	}
}

// During a suspension the stream goes on while nobody watches. Clock and stream jump
// forward by the same time.
func TestASuspensionOfTheMachineEmitsNoEvent(t *testing.T) {
	for _, noProgramTime := range []bool{false, true} {
		w := scenario(t, func(w *world) { w.noProgramTime = noProgramTime }).from(100).until(200)
		w.now += 7200
		w.step(watch.ClockStep{By: at(7200).Sub(at(0))})
		w.until(8000).expect("100 started since 0")
	}
}
