package postgres_test

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAChangeIsStoredWithTheNextRevision(t *testing.T) { // section 16.6
	t.Parallel()
	s, db := newStore(t)
	m := registerWith(t, s, 1, blackout(40))
	before := getMonitor(t, s, m.ID)
	head := feedHead(t, s, db)
	changed := before
	changed.Config.SetThresholdSec(detector.Blackout, 12)
	changed.CallbackURL, changed.Metadata = "https://example.com/night", json.RawMessage(`{"z": 1, "a": "夜"}`)

	after := must(s.UpdateSettings(t.Context(), changed, time.Time{}))(t)
	if after.Revision != 1 || after.Config != changed.Config || after.CallbackURL != changed.CallbackURL || string(after.Metadata) != string(changed.Metadata) {
		t.Errorf("stored is %+v", after)
	}
	if after.Status != before.Status || !after.Health.Same(before.Health) || string(after.Snapshot) != string(before.Snapshot) || after.Generation != before.Generation {
		t.Errorf("the state has changed to %+v", after)
	}
	if lines, _ := feedSince(t, s, db, head); !slices.Equal(lines, []string{"monitor.updated monitoring"}) {
		t.Errorf("the feed has %q", lines)
	}
	if d := leaseOne(t, s); d.Callback != changed.CallbackURL {
		t.Errorf("the pending event goes to %s", d.Callback)
	}
	if answer, err := s.Accept(t.Context(), m.ID, report()); err != nil || answer != (monitor.Answer{Order: monitor.Run, Revision: 1}) {
		t.Errorf("the worker is answered %+v, %v", answer, err)
	}
	if _, err := s.UpdateSettings(t.Context(), changed, time.Time{}); !errors.Is(err, monitors.ErrRevisionConflict) {
		t.Errorf("a change of an older revision: %v", err)
	}
	stopMonitor(t, s, m.ID)
	requireCode(t, errorOf(s.UpdateSettings(t.Context(), after, time.Time{})), monitor.Ended)
	requireCode(t, errorOf(s.UpdateSettings(t.Context(), registration(9), time.Time{})), monitor.NotFound)
}

// Writers change different settings of one monitor at once, and try again after a conflict.
func TestWritersAtOnceLoseNoChange(t *testing.T) { // section 16.6
	t.Parallel()
	s := open(t, database(t))
	m := register(t, s, 1)
	settings := []string{"check_interval_sec", "blackout_threshold_sec", "silence_threshold_sec", "start_delay_tolerance_sec"}
	const rounds = 10
	var writers sync.WaitGroup
	for _, field := range settings {
		writers.Go(func() {
			for n := 1; n <= rounds; {
				changed, err := s.Get(t.Context(), m.ID)
				if err == nil {
					changed.Config.Set(field, float64(100+n))
					_, err = s.UpdateSettings(t.Context(), changed, time.Time{})
				}
				switch {
				case err == nil:
					n++
				case !errors.Is(err, monitors.ErrRevisionConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	after := getMonitor(t, s, m.ID)
	for _, field := range settings {
		if got := after.Config.Value(field); got != 100+rounds {
			t.Errorf("%s is %v", field, got)
		}
	}
	if after.Revision != len(settings)*rounds {
		t.Errorf("the revision is %d", after.Revision)
	}
}

func TestAChangedScheduleMovesThePromotion(t *testing.T) { // decision A10, section 16.6
	t.Parallel()
	s, db, m := newReservation(t, time.Hour)
	move := func(to time.Time) {
		t.Helper()
		must(s.UpdateSettings(t.Context(), getMonitor(t, s, m.ID), to))(t)
	}
	later := time.Now().Add(3 * time.Hour).Truncate(time.Millisecond)
	move(later)
	move(time.Time{}) // another change
	if _, next := claimDue(t, s); next.Sub(later).Abs() > time.Minute {
		t.Errorf("the reservation is due at %v, want %v", next, later)
	}
	move(time.Now().Add(-time.Second))
	claimed, _ := claimDue(t, s)
	if len(claimed) != 1 {
		t.Fatalf("claimed %v", claimed)
	}
	must(s.Promote(t.Context(), claimed[0], "here"))(t)
	move(later)
	if m := getMonitor(t, s, m.ID); !m.ReservedUntil.IsZero() {
		t.Errorf("a monitor with a worker is reserved until %v", m.ReservedUntil)
	}
	reserve(t, db, m.ID, -time.Second) // its gateway stops
	move(later)
	if claimed, _ := claimDue(t, s); len(claimed) != 1 {
		t.Error("a released monitor waits for its moved start")
	}
}
