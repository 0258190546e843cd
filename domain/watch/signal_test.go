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
	for name, set := range map[string][]option{
		"of a playlist that stood still": {stalls(200, 300)},
		"of failing segments":            {noSegment(195, 300)},
		"of a failing playlist":          {noPlaylist(195, 300)},
		"of sound and picture apart":     {apart, noSegment(195, 300)},
		"of the picture alone":           {apart, noSegmentIn("/picture", 195, 300)},
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, set...).from(100)
			for w.advance(400) {
				// The history takes both being known for the end of the outage (section 16.3).
				if h := w.watcher.Report().Health; len(w.signals) == 1 && h.Video != monitor.Unknown && h.Audio != monitor.Unknown {
					t.Errorf("in the outage, at %v, the picture is %s and the sound %s", w.now, h.Video, h.Audio)
				}
			}
			if w.emitted(event.SegmentError) != 1 || len(w.events) != 2 || len(w.signals) != 2 {
				t.Fatalf("emitted %v, signalled %v", w.events, w.signals)
			}
			onset, end := w.events[1].Data.(event.Outage).StartedAt, w.signals[1].EndedAt
			w.expectSignals(monitor.Signal{Condition: trouble.NoMedia, StartedAt: onset}, monitor.Signal{Condition: trouble.NoMedia, StartedAt: onset, EndedAt: end})
			if sec(end) < 300 || sec(end) > 320 {
				t.Errorf("its end is %v", sec(end))
			}
		})
	}
}

func TestAnOutageThatIsNotAlertedIsNotSignalled(t *testing.T) {
	scenario(t, noPlaylist(195, 230)).from(100).until(400).expectSignals()
	scenario(t, noPlaylist(195, 270), unanswered(195, 400)).from(100).until(1000).expectSignals()
}

func TestTheEndOfBlindnessIsSignalled(t *testing.T) {
	w := scenario(t, unobservable(220, 700)).from(200).until(900)
	blind := w.signalled(trouble.Blind)
	if len(blind) != 2 || !blind[0].EndedAt.IsZero() || !blind[1].StartedAt.Equal(blind[0].StartedAt) ||
		sec(blind[0].StartedAt) > 222 || sec(blind[1].EndedAt) < 700 {
		t.Errorf("the signals are %v", w.signals)
	}
}

func TestASignalNamesTheOnsetThatWasAlerted(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world){
		"after a restart":          func(w *world) { w.resume(3) },
		"after the clock was set":  func(w *world) { w.step(watch.ClockStep{By: -seconds(3600)}) },
		"and none follows the end": func(w *world) { w.live.to, w.stalls = 300, []span{{200, never}} },
	} {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, stalls(200, 400)).from(100).until(300)
			meanwhile(w)
			w.until(900)
			if w.over {
				if len(w.signals) != 1 {
					t.Errorf("the signals are %v", w.signals)
				}
				return
			}
			if len(w.signals) != 2 || w.signals[1].EndedAt.IsZero() || !w.signals[1].StartedAt.Equal(w.signals[0].StartedAt) {
				t.Errorf("the signals are %v", w.signals)
			}
		})
	}
}
