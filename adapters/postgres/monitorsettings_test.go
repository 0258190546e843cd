package postgres_test

import (
	"encoding/json"
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
	expect(t, "the feed", feedSince(t, s, head), []string{"monitor.updated monitoring"})
	expect(t, "the callback of the pending event", leaseOne(t, s).Callback, changed.CallbackURL)
	expect(t, "the answer to the worker", must(s.Accept(t.Context(), m.ID, report()))(t), (monitor.Answer{Order: monitor.Run, Revision: 1}))
	expectError(t, "a change of an older revision", errorOf(s.UpdateSettings(t.Context(), changed, time.Time{})), monitors.ErrRevisionConflict)
	other := holding(t, db, `UPDATE monitors SET revision = revision + 1`)
	wait := inBackground(t, func() error {
		expectError(t, "a change beside another one", errorOf(s.UpdateSettings(t.Context(), after, time.Time{})), monitors.ErrRevisionConflict)
		return nil
	})
	eventually(t, "the change waits for the other one", func() bool { return waitingForLock(t, db) })
	check(t, other.Commit())
	wait()
	stopMonitor(t, s, m.ID)
	requireCode(t, errorOf(s.UpdateSettings(t.Context(), after, time.Time{})), monitor.Ended)
	requireCode(t, errorOf(s.UpdateSettings(t.Context(), registration(9), time.Time{})), monitor.NotFound)
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
	require(t, "claimed reservations", len(claimed), 1)
	must(s.Promote(t.Context(), claimed[0], "here"))(t)
	move(later)
	expect(t, "until when a monitor with a worker is reserved", getMonitor(t, s, m.ID).ReservedUntil, time.Time{})
	reserve(t, db, m.ID, -time.Second) // its gateway stops
	move(later)
	if claimed, _ := claimDue(t, s); len(claimed) != 1 {
		t.Error("a released monitor waits for its moved start")
	}
}
