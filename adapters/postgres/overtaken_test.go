package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// A lease finds the head of a queue in its snapshot. Until it has locked the
// head, another gateway may send it, its user have it sent again, and the next
// letter leave: the head is pending again then, and no head any more.
func TestAHeadThatWentToTheEndOfItsQueueIsNotLeased(t *testing.T) {
	const gate = 16
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	m := registered(t, s, 1)
	first, second := blackout(1), blackout(2)
	accepted(t, s, m.ID, report(first, second), monitor.Run)

	// The query waits at the gate once it has its snapshot.
	before := "WHERE e.id = ANY (ARRAY(SELECT id FROM head))"
	if strings.Count(postgres.LeaseQuery, before) != 1 {
		t.Fatal("the query has no place to wait at")
	}
	waiting := strings.Replace(postgres.LeaseQuery, before, "WHERE (SELECT pg_advisory_xact_lock_shared($5)) IS NOT NULL AND"+before[len("WHERE"):], 1)

	unlock := locked(t, db, gate)
	type outcome struct {
		leased int64
		err    error
	}
	late := make(chan outcome, 1)
	go func() {
		var o outcome
		res, err := db.ExecContext(t.Context(), waiting, 10, 60, uuid.NewString(), "{}", gate)
		if o.err = err; err == nil {
			o.leased, o.err = res.RowsAffected()
		}
		late <- o
	}()
	eventually(t, "the lease waits with its snapshot", func() bool {
		var n int
		err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&n)
		return err == nil && n == 1
	})

	recorded(t, s, leasedOne(t, s), taken, sent)
	if err := s.Redeliver(t.Context(), m.ID, first.ID); err != nil {
		t.Fatal(err)
	}
	// The redelivery began before the lease, and waited for its monitor.
	alter(t, db, `UPDATE monitor_events SET next_attempt_at = next_attempt_at - interval '1 minute' WHERE id = $1`, first.ID)
	if l := leasedOne(t, s); l.EventID != second.ID {
		t.Fatalf("leased %s, want %s", l.EventID, second.ID)
	}
	unlock()
	select {
	case o := <-late:
		if o.err != nil || o.leased != 0 {
			t.Errorf("%d letters leased beside the one that is out, %v", o.leased, o.err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the lease does not end")
	}
}
