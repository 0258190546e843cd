package postgres_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestEventsOfAMonitorAreLeasedInOrder(t *testing.T) {
	t.Run("one at a time, in the order in which they were stored, also when it has ended", func(t *testing.T) {
		s := open(t, database(t))
		events := []event.Event{blackout(3), blackout(1), blackout(2)} // the order is not that of their times
		m := registerWith(t, s, 1, events...)
		for _, e := range events {
			l := leaseOne(t, s)
			if l.ID != e.ID {
				t.Fatalf("leased %s, want %s", l.ID, e.ID)
			}
			if n := len(lease(t, s)); n != 0 {
				t.Fatalf("%d more while one is out", n)
			}
			recordAttempt(t, s, l, accepting, sent)
			stopMonitor(t, s, m.ID)
		}
	})

	t.Run("a retry delays only its own monitor", func(t *testing.T) {
		s := open(t, database(t))
		registerWith(t, s, 1, blackout(1), blackout(2))
		recordAttempt(t, s, leaseOne(t, s), rejecting, notify.Decision{RetryAt: time.Now().Add(time.Minute)})
		quick := registerWith(t, s, 2, blackout(3))
		if l := leaseOne(t, s); l.Event.MonitorID != quick.ID {
			t.Errorf("leased an event of %s", l.Event.MonitorID)
		}
	})
}

// endLeases lets all leases be over.
func endLeases(t testing.TB, db *sql.DB) {
	t.Helper()
	alter(t, db, `UPDATE deliveries SET due_at = now() - interval '1 second' WHERE lease IS NOT NULL`)
}

// A lease has found an event in its snapshot. Before it locks the event, another gateway may send it, a
// user redeliver it, and the next one be leased. The event is pending again then, but not the first.
func TestAnEventRedeliveredDuringALeaseIsNotLeased(t *testing.T) {
	const gate = 16
	dsn := database(t)
	s, other, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	m := register(t, s, 1)
	first, second := blackout(1), blackout(2)
	acceptReport(t, s, m.ID, report(first, second), monitor.Run)

	// The query waits at the gate once it has its snapshot.
	const before = "WHERE destination_id IS NULL AND queue IS NOT NULL AND"
	if strings.Count(postgres.LockDueCallbacks, before) != 1 {
		t.Fatal("the query has no place to wait at")
	}
	waiting := strings.Replace(postgres.LockDueCallbacks, before, "WHERE (SELECT pg_advisory_xact_lock_shared($2)) IS NOT NULL AND"+before[len("WHERE"):], 1)

	unlock := locked(t, db, gate)
	type outcome struct {
		leased int
		err    error
	}
	late := make(chan outcome, 1)
	go func() {
		var o outcome
		o.err = other.InTx(t.Context(), func(tx *sqlx.Tx) error {
			var found, behind []string
			if err := tx.SelectContext(t.Context(), &found, waiting, 10, gate); err != nil {
				return err
			}
			err := tx.SelectContext(t.Context(), &behind, postgres.PlaceDue, pq.Array(found))
			o.leased = len(found) - len(behind)
			return err
		})
		late <- o
	}()
	eventually(t, "the lease waits with its snapshot", func() bool { return waitingAtGates(t, db) == 1 })

	recordAttempt(t, s, leaseOne(t, s), accepting, sent)
	check(t, s.Redeliver(t.Context(), m.ID, first.ID))
	if l := leaseOne(t, s); l.ID != second.ID {
		t.Fatalf("leased %s, want %s", l.ID, second.ID)
	}
	unlock()
	select {
	case o := <-late:
		if o.err != nil || o.leased != 0 {
			t.Errorf("%d deliveries leased beside the one that is out, %v", o.leased, o.err)
		}
	case <-time.After(patience):
		t.Fatal("the lease does not end")
	}
}

// waitingAtGates returns how many sessions wait for an advisory lock.
func waitingAtGates(t testing.TB, db *sql.DB) int {
	t.Helper()
	return countRows(t, db, `pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
}
