package watch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestProgramTimeThatIsResetChangesNoDuration(t *testing.T) {
	for _, jump := range []time.Duration{2 * time.Minute, time.Hour, -5 * time.Second, -time.Hour} {
		t.Run(fmt.Sprintf("by %s", jump), func(t *testing.T) {
			var alerts []event.Alert
			byHand(t, 30, func(i int) (watch.Segment, watch.Analysis) {
				program := at(float64(2*i - 2))
				if i >= 10 {
					program = program.Add(jump)
				}
				return watch.Segment{ProgramTime: program}, watch.Analysis{Video: watch.Track{Present: true, To: fine.To, Bad: whole}, Audio: fine}
			}, func(d event.Data) { alerts = append(alerts, d.(event.Alert)) })
			if len(alerts) != 1 || alerts[0].DurationSec < 30 || alerts[0].DurationSec > 33 {
				t.Errorf("got %+v, want one alert after about 30 s", alerts)
			}
		})
	}
}

func TestASegmentThatIsPublishedLateResetsNoProgramTime(t *testing.T) {
	notes := byHand(t, 40, func(i int) (watch.Segment, watch.Analysis) {
		program := at(float64(2*i - 2))
		if i >= 10 && i < 30 {
			program = program.Add(-time.Duration(min(i-9, 30-i)) * 1900 * time.Millisecond) // falls behind, catches up
		}
		return watch.Segment{ProgramTime: program}, watch.Analysis{Video: fine, Audio: fine}
	}, func(d event.Data) { t.Errorf("told %+v", d) })
	if len(notes) > 0 {
		t.Errorf("noted %q", notes)
	}
}

func TestProgramTimeResetWhileNobodyWatched(t *testing.T) { // S11
	for _, by := range []float64{-3600, -60, 60, 3600} {
		t.Run(fmt.Sprintf("by %v s", by), func(t *testing.T) {
			scenario(t, func(w *world) {
				w.reset = span{200, by}
				w.black = []span{{300, 340}}
			}).from(100).until(201).resume(3).until(500).expect(
				emits(100, event.StreamStarted),
				emits(330, event.Blackout, lasting(30)),
				emits(350, event.BlackoutRecovered, lasting(40)),
			)
		})
	}
}

func TestAStreamDoesNotEndBeforeItStarted(t *testing.T) {
	w := scenario(t, func(w *world) {
		w.live, w.endlist = span{50, 200}, true
		w.reset = span{0, -7200}
	}).from(100).until(300)
	if end := w.events[len(w.events)-1].Data.(event.Ended); !end.EndedAt.Equal(at(200)) || end.DurationSec != 150 {
		t.Errorf("got %+v", end)
	}
}
