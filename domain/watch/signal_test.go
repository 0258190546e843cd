package watch_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// expectSignals compares all signals with those that should have been emitted.
func (w *world) expectSignals(want ...monitor.Signal) {
	w.t.Helper()
	if !slices.Equal(w.signals, want) {
		w.t.Errorf("the signals are %v, want %v", w.signals, want)
	}
}

func TestTheEndOfAnAlertedOutageIsSignalled(t *testing.T) {
	for name, change := range map[string]func(*world){
		"of a playlist that stood still": func(w *world) { w.stalls = []span{{200, 300}} },
		"of failing segments":            func(w *world) { w.segmentsFail = []span{{195, 300}} },
		"of a failing playlist":          func(w *world) { w.playlistFails = []span{{195, 300}} },
		"of sound and picture apart":     func(w *world) { w.separateTracks = true; w.segmentsFail = []span{{195, 300}} },
		"of the picture alone": func(w *world) {
			w.separateTracks, w.segmentsFailIn = true, map[string][]span{"/picture": {{195, 300}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, change).from(100)
			for w.advance(400) {
				// The history takes both being known for the end of the outage (section 16.3).
				if h := w.watcher.Report().Health; len(w.signals) == 1 && h.Video != monitor.Unknown && h.Audio != monitor.Unknown {
					t.Errorf("in the outage, at %v, the picture is %s and the sound %s", w.now, h.Video, h.Audio)
				}
			}
			if w.emitted(event.SegmentError) != 1 || len(w.events) != 2 {
				t.Fatalf("emitted %v", w.events)
			}
			onset := w.events[1].Data.(event.Outage).StartedAt
			if len(w.signals) != 2 || w.signals[0] != (monitor.Signal{Condition: trouble.NoMedia, StartedAt: onset}) {
				t.Fatalf("the signals are %v, the outage began at %v", w.signals, onset)
			}
			end := w.signals[1]
			if end.Condition != trouble.NoMedia || !end.StartedAt.Equal(onset) || sec(end.EndedAt) < 300 || sec(end.EndedAt) > 320 {
				t.Errorf("its end is %v", end)
			}
		})
	}
}

func TestAnOutageThatIsNotAlertedIsNotSignalled(t *testing.T) {
	scenario(t, func(w *world) { w.playlistFails = []span{{195, 230}} }).from(100).until(400).expectSignals()
}

func TestTheEndOfBlindnessIsSignalled(t *testing.T) {
	w := scenario(t, func(w *world) {
		w.playlistFails, w.unanswered = []span{{220, 700}}, []span{{220, 700}}
	}).from(200).until(900)
	var blind []monitor.Signal
	for _, s := range w.signals {
		if s.Condition == trouble.Blind {
			blind = append(blind, s)
		}
	}
	if len(blind) != 2 || !blind[0].EndedAt.IsZero() || !blind[1].StartedAt.Equal(blind[0].StartedAt) ||
		sec(blind[0].StartedAt) > 222 || sec(blind[1].EndedAt) < 700 {
		t.Errorf("the signals are %v", w.signals)
	}
}

func TestASignalOutlivesItsWorker(t *testing.T) {
	w := scenario(t, func(w *world) { w.stalls = []span{{200, 400}} }).from(100).until(300).resume(3).until(450)
	if len(w.signals) != 2 || w.signals[1].EndedAt.IsZero() || !w.signals[1].StartedAt.Equal(w.signals[0].StartedAt) {
		t.Errorf("the signals are %v", w.signals)
	}
}

func TestASignalNamesTheOnsetThatWasAlertedAfterTheClockWasSet(t *testing.T) {
	w := scenario(t, func(w *world) { w.stalls = []span{{200, 400}} }).from(100).until(300)
	w.step(watch.ClockStep{By: -seconds(3600)})
	w.until(450)
	if len(w.signals) != 2 || !w.signals[1].StartedAt.Equal(w.signals[0].StartedAt) {
		t.Errorf("the signals are %v", w.signals)
	}
}

func TestNoSignalFollowsTheEndOfAWatch(t *testing.T) {
	w := scenario(t, func(w *world) { w.stalls, w.live.to = []span{{200, never}}, 300 }).from(100).until(900)
	if !w.over || len(w.signals) != 1 {
		t.Errorf("over: %v; the signals are %v", w.over, w.signals)
	}
}
