package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAResetOfProgramTimeChangesNoDuration(t *testing.T) {
	for _, jump := range []time.Duration{2 * time.Minute, time.Hour, -5 * time.Second, -time.Hour} {
		t.Run(fmt.Sprintf("by %s", jump), func(t *testing.T) {
			var alerts []event.Alert
			segmentsByHand(t, 30, func(i int) (watch.Segment, watch.Analysis) {
				program := at(float64(2*i - 2))
				if i >= 10 {
					program = program.Add(jump)
				}
				return watch.Segment{ProgramTime: program}, watch.Analysis{Video: decoded, Audio: decoded, Intervals: map[detector.Name][]watch.Interval{detector.Blackout: wholeSegment}}
			}, func(d event.Data) { alerts = append(alerts, d.(event.Alert)) })
			if len(alerts) != 1 || alerts[0].DurationSec < 30 || alerts[0].DurationSec > 33 {
				t.Errorf("got %+v, want one alert after about 30 s", alerts)
			}
		})
	}
}

func TestALateSegmentIsNoResetOfProgramTime(t *testing.T) {
	notes := segmentsByHand(t, 40, func(i int) (watch.Segment, watch.Analysis) {
		program := at(float64(2*i - 2))
		if i >= 10 && i < 30 {
			program = program.Add(-time.Duration(min(i-9, 30-i)) * 1900 * time.Millisecond) // the lag grows and shrinks again
		}
		return watch.Segment{ProgramTime: program}, watch.Analysis{Video: decoded, Audio: decoded}
	}, func(d event.Data) { t.Errorf("emitted %+v", d) })
	if len(notes) > 0 {
		t.Errorf("noted %q", notes)
	}
}

func TestProgramTimeMayBeResetWhileNobodyWatches(t *testing.T) { // S11
	for _, by := range []float64{-3600, -60, 60, 3600} {
		t.Run(fmt.Sprintf("by %v s", by), func(t *testing.T) {
			scenario(t, func(w *world) {
				w.resetFrom, w.resetBy = 200, by
				w.black = []span{{300, 340}}
			}).from(100).until(201).resume(3).until(500).expect(
				emits(100, event.StreamStarted),
				emits(330, event.Blackout, lasting(30)),
				emits(342, event.BlackoutRecovered, lasting(40)),
			)
		})
	}
}

func TestAStreamDoesNotEndBeforeItStarted(t *testing.T) {
	w := scenario(t, func(w *world) {
		w.live, w.endlist = span{50, 200}, true
		w.resetFrom, w.resetBy = 0, -7200
	}).from(100).until(300)
	if end := w.events[len(w.events)-1].Data.(event.Ended); !end.EndedAt.Equal(at(200)) || end.DurationSec != 150 {
		t.Errorf("got %+v", end)
	}
}

// underAnotherClock ends the watcher. A successor goes on 2 s later. Its clock is
// ahead of the watcher's by step seconds.
func (w *world) underAnotherClock(step float64) *world {
	w.storedSnapshot, w.storedEvents = w.snapshot(), len(w.events)
	w.now += step
	w.delay += step // the stream is not affected
	w.live.from = -1e5
	return w.restart(2)
}

func TestASuccessorWithAnotherClockMissesNoEvent(t *testing.T) {
	for _, step := range []float64{-3600, -60, -20, -5, 5, 60, 3600} {
		for _, noProgramTime := range []bool{false, true} {
			for name, cut := range map[string]float64{"before": 55, "at its begin": 65, "after the alert": 95, "after": 130} {
				t.Run(fmt.Sprintf("%+v s, without program time %v, %s", step, noProgramTime, name), func(t *testing.T) {
					set := func() *world {
						return scenario(t, func(w *world) {
							w.window, w.noProgramTime, w.black = 60, noProgramTime, []span{{60, 120}, {200, 260}}
						}).from(10)
					}
					want := outline(set().until(300))
					w := set().until(cut).underAnotherClock(step).until(300 + step)
					slack := 0.1
					if noProgramTime {
						slack = abs(step) + 8 // without program time, times follow the clock
					}
					if got := outline(w); !sameOutline(got, want, slack) {
						t.Errorf("emitted\n%sand with one clock\n%s", lines(got), lines(want))
					}
					for _, note := range w.messages {
						t.Errorf("logged: %s", note)
					}
				})
			}
		}
	}
}

func TestAnOutageGoesOnWithAnotherClock(t *testing.T) {
	for _, step := range []float64{-3600, -60, 60, 3600} {
		t.Run(fmt.Sprintf("%+v s", step), func(t *testing.T) {
			w := scenario(t, func(w *world) { w.playlistFails = []span{{60, never}} }).from(10).until(95)
			w.playlistFails = []span{{-1e6, never}}
			w.underAnotherClock(step).until(145 + step)
			if w.emitted(event.SegmentError) != 1 {
				t.Errorf("emitted %d times by second 145", w.emitted(event.SegmentError))
			}
		})
	}
}

// setClock sets the watcher's clock forward by step seconds, or back if step is
// negative. The stream is not affected.
func (w *world) setClock(step float64) *world {
	w.t.Helper()
	w.now += step
	w.delay += step
	w.live.from = -1e5
	w.step(watch.ClockStep{By: at(step).Sub(at(0))})
	return w
}

func TestAStepOfTheClockChangesNoEvent(t *testing.T) {
	for _, step := range []float64{-7200, -60, -5, 5, 60, 7200} {
		for _, noProgramTime := range []bool{false, true} {
			for name, cut := range map[string]float64{"before it is black": 55, "at its onset": 63, "after the alert": 95, "after it": 130} {
				t.Run(fmt.Sprintf("%+v s, without program time %v, %s", step, noProgramTime, name), func(t *testing.T) {
					set := func() *world {
						return scenario(t, func(w *world) {
							w.window, w.noProgramTime, w.black = 60, noProgramTime, []span{{60, 120}, {200, 260}}
						}).from(10)
					}
					want := outline(set().until(300))
					w := set().until(cut).setClock(step).until(300 + step)
					slack := 0.1
					if noProgramTime {
						slack = abs(step) + 8 // without program time, times follow the clock
					}
					if got := outline(w); !sameOutline(got, want, slack) {
						t.Errorf("emitted\n%sand with one clock\n%s", lines(got), lines(want))
					}
					if len(w.messages) != 1 || !strings.HasPrefix(w.messages[0], "The clock of this machine was set") {
						t.Errorf("logged %q", w.messages)
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
		"an outage": {event.SegmentError, func(w *world, s span) { w.playlistFails = []span{s} }, 95},
		"blindness": {event.MonitorError, func(w *world, s span) { w.playlistFails, w.unanswered = []span{s}, []span{s} }, 200},
	} {
		failing := func(w *world) *world { tc.fails(w, span{60, never}); return w.from(10) }
		emittedAt := func(w *world) float64 {
			t.Helper()
			if w.emitted(tc.event) != 1 {
				t.Fatalf("%s was emitted %d times", name, w.emitted(tc.event))
			}
			return w.events[len(w.events)-1].at
		}
		want := emittedAt(failing(scenario(t)).until(500))
		for _, step := range []float64{-7200, -60, 60, 7200} {
			t.Run(fmt.Sprintf("%s, %+v s", name, step), func(t *testing.T) {
				w := failing(scenario(t)).until(tc.cut)
				tc.fails(w, span{-1e6, never})
				w.setClock(step).until(500 + step)
				if got := emittedAt(w) - step; got < want-1 || got > want+10 {
					t.Errorf("emitted at second %v, with one clock at %v", got, want)
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

// During a suspension the stream goes on while nobody watches. Clock and stream jump
// forward by the same time.
func TestASuspensionOfTheMachineEmitsNoEvent(t *testing.T) {
	for _, noProgramTime := range []bool{false, true} {
		w := scenario(t, func(w *world) { w.noProgramTime = noProgramTime }).from(100).until(200)
		w.now += 7200
		w.step(watch.ClockStep{By: at(7200).Sub(at(0))})
		w.until(8000).expect(emits(100, event.StreamStarted))
	}
}
