package watch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// expectLooks compares the looks of a time, as "sequence" or "sequence closely".
func (w *world) expectLooks(s span, want ...string) {
	w.t.Helper()
	var got []string
	for _, l := range w.looks {
		if !s.has(l.began) {
			continue
		}
		look := fmt.Sprint(l.sequence)
		if !l.picture {
			look += " closely"
		}
		got = append(got, look)
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("looked at %q, want %q", got, want)
	}
}

func TestACalmPictureIsScreened(t *testing.T) { // S18
	scenario(t).from(100).until(135).
		expectLooks(span{0, 200}, "49 closely", "54", "59", "64") // nothing is known before the first check
}

func TestADarkKeyFrameHasEveryFrameDecoded(t *testing.T) { // S18
	w := scenario(t, func(w *world) { w.segment, w.groups, w.black = 10, 2, []span{{101, 103}} }).from(100).until(135)
	w.expectLooks(span{105, 200}, "10 closely", "11", "12")
	t.Run("as long as the picture is black", func(t *testing.T) {
		w := scenario(t, func(w *world) { w.black = []span{{110.5, 131}}; w.segment, w.groups = 10, 2 }).from(100).until(165)
		w.expectLooks(span{115, 200}, "11 closely", "12 closely", "13 closely", "14", "15")
	})
}

func TestAScreenIsDoubtedBeforeTheOnset(t *testing.T) { // S18, S1
	for name, separate := range map[string]bool{"picture and sound together": false, "apart": true} {
		t.Run(name, func(t *testing.T) {
			// The picture turns black after the only key frame of the newest segment.
			scenario(t, func(w *world) {
				w.black, w.segment, w.separateTracks = []span{{117, 200}}, 5, separate
			}).from(101).until(260).expect(
				emits(101, event.StreamStarted),
				emits(150, event.Blackout, since(117)),
				emits(205.1, event.BlackoutRecovered, since(117), lasting(83)),
			)
		})
	}
	t.Run("when the segments between were not looked at", func(t *testing.T) {
		scenario(t, func(w *world) { w.black, w.segment = []span{{118.5, 200}}, 2 }).from(100).until(250).expect(
			emits(100, event.StreamStarted),
			emits(150.5, event.Blackout, since(118.5)),
			emits(202.2, event.BlackoutRecovered, since(118.5), lasting(81)),
		)
	})
	t.Run("across a restart", func(t *testing.T) {
		w := scenario(t, func(w *world) { w.black, w.segment = []span{{119.5, 200}}, 2 }).from(100).until(121).resume(5)
		w.until(250).expect(
			emits(100, event.StreamStarted),
			emits(150.5, event.Blackout, since(119.5)),
			emits(202.2, event.BlackoutRecovered, since(119.5), lasting(80)),
		)
	})
}

func TestAPictureThatCannotBeScreenedIsLookedAtClosely(t *testing.T) { // S18
	for name, change := range map[string]func(*world){
		"damage":                        func(w *world) { w.damaged = []span{{0, never}} },
		"no key frame in the segment":   func(w *world) { w.groups = 50 },
		"a threshold of one interval":   func(w *world) { w.rules.Thresholds[detector.Blackout] = seconds(10) },
		"key frames that are far apart": func(w *world) { w.segment, w.rules.Thresholds[detector.Blackout] = 10, seconds(20) },
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, change).from(100).until(1100)
			for _, l := range w.looks {
				if l.picture {
					t.Errorf("only key frames of segment %d were decoded", l.sequence)
				}
			}
			if len(w.events) != 1 || len(w.looks) > 101 {
				t.Errorf("emitted %v in %d looks", w.events, len(w.looks))
			}
		})
	}
}

func TestASegmentWithoutKeyFrameAndSoundIsNoFailure(t *testing.T) { // S4, S18
	w := scenario(t, func(w *world) { w.groups, w.noSound = 50, true }).from(100).until(400)
	w.expect(
		emits(100, event.StreamStarted),
		emits(128, event.Silence, since(98)),
	)
}

func TestSilenceDoesNotHaveThePictureDecoded(t *testing.T) { // S18
	w := scenario(t, func(w *world) { w.silent = []span{{120.5, 151}} }).from(100).until(165)
	w.expect(
		emits(100, event.StreamStarted),
		emits(152, event.Silence, since(120.5)),
		emits(152, event.SilenceRecovered, since(120.5)),
	)
	for _, l := range w.looks[1:] {
		if !l.picture {
			t.Errorf("every frame of segment %d was decoded", l.sequence)
		}
	}
}

func TestARecoveryIsToldWithinASegmentAndASecond(t *testing.T) { // S18
	for _, segment := range []float64{1, 2, 4, 6, 10} {
		for _, delay := range []float64{0, 0.4, 3.7, 8} {
			t.Run(fmt.Sprintf("segments of %v s, published after %v s", segment, delay), func(t *testing.T) {
				for _, end := range []float64{180, 180.3, 187.9, 300} {
					w := scenario(t, func(w *world) {
						w.segment, w.delay, w.black = segment, delay, []span{{110, end}}
					}).from(50).until(400)
					if w.emitted(event.BlackoutRecovered) != 1 {
						t.Fatalf("black until %v: emitted %v", end, w.events)
					}
					if told := w.events[2].at; told > end+segment+delay+1+tolerance {
						t.Errorf("black until %v, told at %v", end, told)
					}
					// Once it is known when segments appear, each takes one reading.
					if n := w.begunIn(watch.TaskPlaylist, span{160, 180}); float64(n) > 20/segment+4 && segment > 1 {
						t.Errorf("%d readings in 20 s", n)
					}
				}
			})
		}
	}
}

func TestAnAlertThatLastsIsLookedAtOnceAnIntervalAgain(t *testing.T) { // S18
	for name, bad := range map[string]func(*world){
		"no sound":        func(w *world) { w.noSound = true },
		"no light":        func(w *world) { w.black = []span{{0, never}} },
		"they take turns": func(w *world) { w.noSound, w.black = true, []span{{30000, never}} },
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, bad).from(100).until(60000)
			alerts := w.emitted(event.Silence) + w.emitted(event.Blackout)
			calm := w.begunIn(watch.TaskSegment, span{58000, 59000})
			if calm > 101 {
				t.Errorf("%d segments in 1000 s with a check every 10 s", calm)
			}
			// Six hours after an alert have 10,800 segments of 2 s, instead of 2,160.
			if n := w.begunIn(watch.TaskSegment, span{100, 60000}); n < 5990+8640*alerts-100 || n > 5990+8640*alerts+100 {
				t.Errorf("%d segments, %d alerts", n, alerts)
			}
			if n := w.begunIn(watch.TaskPlaylist, span{58000, 59000}); n > 101 {
				t.Errorf("%d readings in 1000 s", n)
			}
		})
	}
	t.Run("and its recovery is told at the next check, with its instant", func(t *testing.T) {
		w := scenario(t, func(w *world) { w.black = []span{{110.5, 30003.5}} }).from(100).until(30100)
		if w.emitted(event.BlackoutRecovered) != 1 {
			t.Fatalf("emitted %v", w.events)
		}
		last := w.events[len(w.events)-1]
		recovered, isRecovery := last.Data.(event.Recovered)
		if !isRecovery || abs(sec(recovered.RecoveredAt)-30003.5) > tolerance || last.at > 30004+10 {
			t.Errorf("told at %v: %+v", last.at, last.Data)
		}
	})
	t.Run("also after a restart", func(t *testing.T) {
		w := scenario(t, func(w *world) { w.noSound = true }).from(100).until(30000).resume(3)
		w.until(31000)
		if n := w.begunIn(watch.TaskSegment, span{30003, 31003}); n > 101 {
			t.Errorf("%d segments in 1000 s with a check every 10 s", n)
		}
	})
}
