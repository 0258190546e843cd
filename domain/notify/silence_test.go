package notify_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestASilenceLastsFromItsBeginningToItsEnd(t *testing.T) {
	s := notify.Silence{From: at(0), To: at(60)}
	for sec, want := range map[float64]notify.SilenceState{-1: notify.SilenceScheduled, 0: notify.SilenceActive, 59: notify.SilenceActive, 60: notify.SilenceEnded} {
		if got := s.State(at(sec)); got != want {
			t.Errorf("after %v s: %s, want %s", sec, got, want)
		}
	}
	r := routing()
	r.Silences = []notify.Silence{s, {From: at(10), UntilRecovered: true, Match: notify.Match{Monitors: []monitor.ID{someMonitor}}}}
	for sec, want := range map[float64]time.Time{-1: {}, 5: at(60), 10: notify.Forever} {
		if got := r.SilencedUntil(blackIncident, at(sec)); !got.Equal(want) {
			t.Errorf("after %v s: silenced until %v, want %v", sec, got, want)
		}
	}
}
