package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestEventsOfAMonitorAreLeasedInOrder(t *testing.T) {
	t.Run("one at a time, in the order in which they were stored", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		events := []event.Event{blackout(3), blackout(1), blackout(2)} // the order is not that of their times
		acceptReport(t, s, m.ID, report(events...), monitor.Run)
		for _, e := range events {
			l := leaseOne(t, s)
			if l.EventID != e.ID {
				t.Fatalf("leased %s, want %s", l.EventID, e.ID)
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
		recordAttempt(t, s, leaseOne(t, s), rejecting, callback.Decision{RetryAt: time.Now().Add(time.Minute)})
		acceptReport(t, s, quick.ID, report(blackout(3)), monitor.Run)
		if l := leaseOne(t, s); l.MonitorID != quick.ID {
			t.Errorf("leased an event of %s", l.MonitorID)
		}
	})

	t.Run("an expired lease is granted again", func(t *testing.T) {
		dsn := database(t)
		s, db := open(t, dsn), raw(t, dsn)
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
		first := leaseOne(t, s)
		alter(t, db, `UPDATE monitor_events SET leased_until = now() - interval '1 second'`)
		if again := leaseOne(t, open(t, dsn)); again.EventID != first.EventID {
			t.Errorf("leased %s, want %s", again.EventID, first.EventID)
		}
	})

	t.Run("at most the limit is leased", func(t *testing.T) {
		s := open(t, database(t))
		for n := range 5 {
			acceptReport(t, s, register(t, s, n).ID, report(blackout(n)), monitor.Run)
		}
		deliveries, err := s.Outbox.Lease(t.Context(), 3, time.Minute)
		if err != nil || len(deliveries) != 3 {
			t.Errorf("%d deliveries, %v", len(deliveries), err)
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
	take := func(l callback.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		if other, busy := out[l.MonitorID]; busy {
			t.Errorf("%s and %s of one monitor are out at once", other, l.EventID)
		}
		out[l.MonitorID] = l.EventID
		seen[l.MonitorID] = append(seen[l.MonitorID], l.EventID)
		count++
	}
	giveBack := func(l callback.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		delete(out, l.MonitorID)
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
				deliveries, err := s.Outbox.Lease(t.Context(), 3, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				for _, l := range deliveries {
					take(l)
				}
				for _, l := range deliveries {
					giveBack(l) // before it is recorded: afterwards it may be out again
					if _, err := s.Outbox.RecordAttempt(t.Context(), l, accepting, sent); err != nil {
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
	if again := leaseOne(t, next); again.EventID != mine.EventID || again.LeaseID == mine.LeaseID {
		t.Errorf("leased %+v, want %s again; %s is another runtime's", again, mine.EventID, theirs.EventID)
	}
}

// The plan is checked instead of the time: what is read must not grow with one
// monitor's backlog, whatever the database knows of its own statistics.
func TestABacklogOfOneMonitorDoesNotSlowOthers(t *testing.T) {
	for _, analysed := range []bool{false, true} {
		t.Run(fmt.Sprintf("10,000 pending events of one, analysed: %v", analysed), func(t *testing.T) {
			dsn := create(t, template) // fresh: the statistics of a used one would be those of its user
			s, db := open(t, dsn), raw(t, dsn)
			m, other := register(t, s, 1), register(t, s, 2)
			alter(t, db, `INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
				SELECT gen_random_uuid(), $1, 'alert.blackout', '{}', '{}', 'pending', now() FROM generate_series(1, 10000)`, m.ID)
			alter(t, db, `INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
				SELECT gen_random_uuid(), $1, 'alert.blackout', '{}', '{}', 'sent', now() FROM generate_series(1, 10000)`, other.ID)
			if analysed {
				alter(t, db, `ANALYZE`)
			}
			acceptReport(t, s, other.ID, report(blackout(1)), monitor.Run)

			if pages, plan := explain(t, db, postgres.LeaseQuery, 10, 60, uuid.NewString(), "{}"); pages > 80 {
				t.Errorf("leasing two heads looked at %d pages: %s", pages, plan)
			}
		})
	}
}

// A lease finds the head of a queue in its snapshot. Before it has locked the head,
// another gateway may send it, a user redeliver it, and the next event be leased.
// The head is pending again then, but no longer the head.
func TestAnEventRedeliveredDuringALeaseIsNotLeased(t *testing.T) {
	const gate = 16
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	m := register(t, s, 1)
	first, second := blackout(1), blackout(2)
	acceptReport(t, s, m.ID, report(first, second), monitor.Run)

	// The query waits at the gate once it has its snapshot.
	before := "WHERE e.id = ANY (ARRAY(SELECT id FROM next))"
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

	recordAttempt(t, s, leaseOne(t, s), accepting, sent)
	if err := s.Redeliver(t.Context(), m.ID, first.ID); err != nil {
		t.Fatal(err)
	}
	// The redelivery began before the lease, and waited for its monitor.
	alter(t, db, `UPDATE monitor_events SET next_attempt_at = next_attempt_at - interval '1 minute' WHERE id = $1`, first.ID)
	if l := leaseOne(t, s); l.EventID != second.ID {
		t.Fatalf("leased %s, want %s", l.EventID, second.ID)
	}
	unlock()
	select {
	case o := <-late:
		if o.err != nil || o.leased != 0 {
			t.Errorf("%d deliveries leased beside the one that is out, %v", o.leased, o.err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the lease does not end")
	}
}
