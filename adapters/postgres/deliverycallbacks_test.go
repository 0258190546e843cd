package postgres_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestEventsOfAMonitorAreLeasedInOrder(t *testing.T) {
	t.Run("one at a time, in the order in which they were stored", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		events := []event.Event{blackout(3), blackout(1), blackout(2)} // the order is not that of their times
		acceptReport(t, s, m.ID, report(events...), monitor.Run)
		for _, e := range events {
			l := leaseOne(t, s)
			if l.ID != e.ID {
				t.Fatalf("leased %s, want %s", l.ID, e.ID)
			}
			if n := len(lease(t, s)); n != 0 {
				t.Fatalf("%d more while one is out", n)
			}
			recordAttempt(t, s, l, accepting, sent)
		}
	})

	t.Run("a retry delays only its own monitor", func(t *testing.T) {
		s := open(t, database(t))
		slow, quick := register(t, s, 1), register(t, s, 2)
		acceptReport(t, s, slow.ID, report(blackout(1), blackout(2)), monitor.Run)
		recordAttempt(t, s, leaseOne(t, s), rejecting, notify.Decision{RetryAt: time.Now().Add(time.Minute)})
		acceptReport(t, s, quick.ID, report(blackout(3)), monitor.Run)
		if l := leaseOne(t, s); l.Event.MonitorID != quick.ID {
			t.Errorf("leased an event of %s", l.Event.MonitorID)
		}
	})

	t.Run("an expired lease is granted again", func(t *testing.T) {
		dsn := database(t)
		s, db := open(t, dsn), raw(t, dsn)
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
		first := leaseOne(t, s)
		endLeases(t, db)
		if again := leaseOne(t, open(t, dsn)); again.ID != first.ID {
			t.Errorf("leased %s, want %s", again.ID, first.ID)
		}
	})

	t.Run("at most the limit is leased", func(t *testing.T) {
		s := open(t, database(t))
		for n := range 5 {
			acceptReport(t, s, register(t, s, n).ID, report(blackout(n)), monitor.Run)
		}
		if n := len(leaseUpTo(t, s, 3)); n != 3 {
			t.Errorf("%d deliveries", n)
		}
	})

	t.Run("an ended monitor's events are still delivered", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
		if _, err := s.End(t.Context(), m.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		leaseOne(t, s)
	})
}

// Two gateways empty the outbox, each with several goroutines. No event is leased
// twice, no two of one monitor at the same time, and each monitor's in order.
func TestTwoGatewaysNeverLeaseTheSameEvent(t *testing.T) {
	const streams, each, hands = 10, 12, 4
	dsn := database(t)
	gateways := []*postgres.Store{open(t, dsn), open(t, dsn)}
	want := map[monitor.ID][]string{}
	for n := range streams {
		m := register(t, gateways[0], n)
		var events []event.Event
		for i := range each {
			events = append(events, blackout(i))
			want[m.ID] = append(want[m.ID], events[i].ID)
		}
		acceptReport(t, gateways[0], m.ID, report(events...), monitor.Run)
	}

	var mu sync.Mutex
	out := map[monitor.ID]string{}
	seen := map[monitor.ID][]string{}
	count := 0
	take := func(l delivery.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		if other, busy := out[l.Event.MonitorID]; busy {
			t.Errorf("%s and %s of one monitor are out at once", other, l.ID)
		}
		out[l.Event.MonitorID] = l.ID
		seen[l.Event.MonitorID] = append(seen[l.Event.MonitorID], l.ID)
		count++
	}
	giveBack := func(l delivery.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		delete(out, l.Event.MonitorID)
	}
	finished := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return count >= streams*each || t.Failed()
	}

	var wg sync.WaitGroup
	for hand := range 2 * hands {
		s := gateways[hand%2]
		wg.Go(func() {
			for !finished() {
				leased, err := s.Lease(t.Context(), 3, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				for _, l := range leased.Deliveries {
					take(l)
				}
				for _, l := range leased.Deliveries {
					giveBack(l) // before it is recorded: afterwards it may be out again
					if _, err := s.Record(t.Context(), l, outcomeOf(accepting, sent)); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	for id, events := range want {
		if !slices.Equal(seen[id], events) {
			t.Errorf("%s: delivered\n%v, stored\n%v", id, seen[id], events)
		}
	}
}

func TestALaterGatewayTakesOverLeases(t *testing.T) {
	dsn := database(t)
	dead, other, next := open(t, dsn), open(t, dsn), open(t, dsn)
	for s, place := range map[interface {
		TakeOverLeases(context.Context, string) error
	}]string{dead: "here", other: "there"} {
		if err := s.TakeOverLeases(t.Context(), place); err != nil {
			t.Fatal(err)
		}
	}
	first, second := register(t, dead, 1), register(t, dead, 2)
	acceptReport(t, dead, first.ID, report(blackout(40)), monitor.Run)
	mine := leaseOne(t, dead)
	acceptReport(t, dead, second.ID, report(blackout(41)), monitor.Run)
	theirs := leaseOne(t, other)

	if got := lease(t, next); len(got) != 0 {
		t.Fatalf("leased %v before the takeover", got)
	}
	for range 2 {
		if err := next.TakeOverLeases(t.Context(), "here"); err != nil {
			t.Fatal(err)
		}
	}
	if again := leaseOne(t, next); again.ID != mine.ID || again.LeaseID == mine.LeaseID {
		t.Errorf("leased %+v, want %s again; %s is another runtime's", again, mine.ID, theirs.ID)
	}
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
	if err := s.Redeliver(t.Context(), m.ID, first.ID); err != nil {
		t.Fatal(err)
	}
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
