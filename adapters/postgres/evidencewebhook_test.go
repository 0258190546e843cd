package postgres_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
)

func TestARecoveryFindsItsOwnAlert(t *testing.T) { // section 16.2
	dsn := database(t)
	s := open(t, dsn)
	m := register(t, s, 1)
	onset := hourAgo()
	first, second := trouble(detector.Blackout, onset), trouble(detector.Blackout, onset.Add(10*time.Minute))
	firstEnd := recovery(detector.Blackout, onset, onset.Add(time.Minute))
	lost := recovery(detector.Blackout, onset.Add(-time.Hour), onset.Add(-30*time.Minute))
	acceptReport(t, s, m.ID, report(lost, first, firstEnd, trouble(detector.Silence, onset), second), "run")
	for id, want := range map[string]string{firstEnd.ID: first.ID, lost.ID: ""} {
		if got, err := s.AlertOf(t.Context(), id, event.Blackout); err != nil || got != want {
			t.Errorf("the alert of %s is %q, want %q, %v", id, got, want, err)
		}
	}
	alter(t, raw(t, dsn), `UPDATE monitor_events SET created_at = now() - interval '90 seconds'`)
	if age := leaseOne(t, s).Age; age < 90*time.Second || age > 2*time.Minute {
		t.Errorf("an event of 90 s has the age %v", age)
	}
}
