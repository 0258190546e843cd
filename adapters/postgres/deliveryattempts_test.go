package postgres_test

import (
	"database/sql"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestAnAttemptIsRecordedWithItsDecision(t *testing.T) {
	history := func(t *testing.T, s *postgres.Store, id monitor.ID) []monitors.EventRecord {
		t.Helper()
		page, _, err := s.Events(t.Context(), id, 50, 0)
		check(t, err)
		slices.Reverse(page) // oldest first
		return page
	}
	due := notify.Decision{RetryAt: time.Now()}

	t.Run("every attempt is stored, and a success makes the event sent", func(t *testing.T) {
		s := open(t, database(t))
		m := registerWith(t, s, 1, blackout(1))
		bad := rejecting
		bad.Error = "a\x00\xff" + string(make([]byte, 5000)) // what PostgreSQL does not store, and too long
		recordAttempt(t, s, leaseOne(t, s), bad, due)
		l := leaseOne(t, s)
		if l.Tried != 1 {
			t.Errorf("%d attempts before the second", l.Tried)
		}
		if rec := history(t, s, m.ID)[0]; rec.LastError == nil || len(*rec.LastError) > 1010 {
			t.Errorf("the record is %+v", rec)
		}
		second := accepting
		second.At = noon.Add(time.Second)
		recordAttempt(t, s, l, second, sent)
		rec := history(t, s, m.ID)[0]
		if rec.Status != "sent" || rec.SentAt == nil || len(rec.Attempts) != 2 || rec.Attempts[0].Status != 500 || rec.Attempts[1] != (event.Attempt{At: second.At, Status: 200}) {
			t.Errorf("the record is %+v", rec)
		}
	})

	t.Run("the last failure ends the monitor and its other pending events", func(t *testing.T) {
		s := open(t, database(t))
		m := registerWith(t, s, 1, blackout(1), blackout(2))
		l := leaseOne(t, s)
		other := registerWith(t, s, 2, blackout(3))
		if ended := recordAttempt(t, s, l, rejecting, failed); ended != m.ID {
			t.Errorf("ended is %q, want %s", ended, m.ID)
		}
		if m := getMonitor(t, s, m.ID); m.Status != monitor.Failed || m.Reason != event.ReasonCallbackFailed || m.EndedAt.IsZero() {
			t.Errorf("it stands at %s, %q, ended %v", m.Status, m.Reason, m.EndedAt)
		}
		for _, rec := range history(t, s, m.ID) {
			if rec.Status != "failed" || rec.LastError == nil {
				t.Errorf("the record is %+v", rec)
			}
		}
		if l := leaseOne(t, s); l.Event.MonitorID != other.ID {
			t.Errorf("leased an event of %s", l.Event.MonitorID)
		}
	})

	t.Run("a failure under an earlier lease changes nothing", func(t *testing.T) {
		for name, v := range map[string]notify.Decision{"retry": due, "failed": failed} {
			s, db := newStore(t)
			m := registerWith(t, s, 1, blackout(1))
			late := leaseOne(t, s)
			endLeases(t, db)
			now := leaseOne(t, s)
			expectNothing := func(when string) {
				t.Helper()
				if ended := recordAttempt(t, s, late, rejecting, v); ended != "" {
					t.Errorf("%s, %s: it ended %s", name, when, ended)
				}
				expectNoneLeased(t, s)
			}
			expectNothing("while another sends it")
			recordAttempt(t, s, now, accepting, sent)
			expectNothing("when it was sent")
			if rec := history(t, s, m.ID)[0]; rec.Status != "sent" || len(rec.Attempts) != 1 {
				t.Errorf("%s: the record is %+v", name, rec)
			}
		}
	})

	t.Run("a failed last event of a completed monitor leaves it completed", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		final := report(blackout(1))
		final.Status = monitor.Completed
		acceptReport(t, s, m.ID, final, monitor.Stop)
		if ended := recordAttempt(t, s, leaseOne(t, s), rejecting, failed); ended != "" {
			t.Errorf("it ended %s", ended)
		}
		if m := getMonitor(t, s, m.ID); m.Status != monitor.Completed {
			t.Errorf("the status is %s", m.Status)
		}
	})
}

// The dispatchers need not poll for what is due later.
func TestALeaseTellsWhenTheNextIsDue(t *testing.T) {
	s, db := newStore(t)
	leaseTells := func(what string, limit, want int, more bool, in time.Duration) {
		t.Helper()
		leased := must(s.Lease(t.Context(), limit, time.Minute))(t)
		var next time.Duration
		if !leased.NextAt.IsZero() {
			next = time.Until(leased.NextAt).Round(10 * time.Second)
		}
		if len(leased.Deliveries) != want || leased.More != more || !more && next != in {
			t.Errorf("%s: %d are leased, more: %t, the next is due in %v; want %d, %t, %v", what, len(leased.Deliveries), leased.More, next, want, more, in)
		}
	}
	leaseTells("without any", 10, 0, false, 0)
	m := registerWith(t, s, 1, blackout(1), blackout(2))
	recordAttempt(t, s, leaseOne(t, s), rejecting, notify.Decision{RetryAt: time.Now().Add(2 * time.Minute)})
	leaseTells("a retry at a callback, with another event behind it", 10, 0, false, 2*time.Minute)
	alter(t, db, `DELETE FROM deliveries WHERE monitor_id = $1`, m.ID)
	hook := addDestination(t, s, notify.Webhook, "hook")
	addNotices(t, db, hook, 3)
	leaseTells("as many as were asked for", 2, 2, true, 0)
	leaseTells("the last", 2, 1, false, time.Minute)
	alter(t, db, `UPDATE deliveries SET lease = NULL, due_at = now() + interval '20 seconds'`)
	leaseTells("a retry at a destination", 10, 0, false, 20*time.Second)
	alter(t, db, `UPDATE destinations SET enabled = false`)
	leaseTells("at a disabled destination", 10, 0, false, 0)
}

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
			expectNoneLeased(t, s)
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

// waitingAtGates returns how many sessions wait for an advisory lock.
func waitingAtGates(t testing.TB, db *sql.DB) int {
	t.Helper()
	return countRows(t, db, `pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
}

// later is the decision about an event on the long schedule (section 19.5).
func later(pause time.Duration) notify.Decision {
	return notify.Decision{RetryAt: time.Now().Add(pause), LeavesQueue: true}
}

// lateEvents registers a monitor that goes on when its callback fails, with two events, of
// which the first is on the long schedule.
func lateEvents(t *testing.T, s *postgres.Store, pause time.Duration) (m monitor.Monitor, first delivery.Delivery) {
	t.Helper()
	m = registration(1)
	m.Config.OnCallbackFailure = monitor.Continue
	check(t, s.Insert(t.Context(), m, unlimited))
	acceptReport(t, s, m.ID, report(blackout(1), blackout(2)), monitor.Run)
	first = leaseOne(t, s)
	if want := notify.CallbackPolicy(monitor.Continue); !reflect.DeepEqual(first.Policy, want) {
		t.Fatalf("the policy is %+v, want %+v", first.Policy, want)
	}
	recordAttempt(t, s, first, rejecting, later(pause))
	return m, first
}

func TestAnEventOnTheLongScheduleBlocksNothing(t *testing.T) { // section 19.5
	t.Run("the event behind it is leased, and it when it is due", func(t *testing.T) {
		s, db := newStore(t)
		m, first := lateEvents(t, s, 8*time.Hour)
		second := leaseOne(t, s)
		if second.ID == first.ID {
			t.Fatal("it was leased before its time")
		}
		recordAttempt(t, s, second, accepting, sent)
		if wait := time.Until(must(s.Lease(t.Context(), 10, time.Minute))(t).NextAt); wait < 7*time.Hour {
			t.Errorf("the next is due in %v", wait)
		}
		records, _, err := s.Events(t.Context(), m.ID, 10, 0)
		if err != nil || !records[1].LongSchedule || records[0].LongSchedule {
			t.Errorf("the history has %+v, %v", records, err)
		}
		pass(t, db, 8*time.Hour)
		if l := leaseOne(t, s); l.ID != first.ID || l.Tried != 1 {
			t.Errorf("leased %+v", l)
		}
	})

	t.Run("one of each monitor is sent at a time", func(t *testing.T) {
		s := open(t, database(t))
		_, first := lateEvents(t, s, 0)
		one, two := leaseOne2(t, s)
		recordAttempt(t, s, two, attempt("no"), later(0))
		if one.ID != first.ID {
			t.Errorf("leased %s first", one.ID)
		}
		expectNoneLeased(t, s)
		recordAttempt(t, s, one, attempt(""), sent)
		if l := leaseOne(t, s); l.ID != two.ID {
			t.Errorf("leased %+v", l)
		}
	})

	t.Run("its last failure ends no monitor", func(t *testing.T) {
		s := open(t, database(t))
		m, _ := lateEvents(t, s, 0)
		one, _ := leaseOne2(t, s)
		if ended := recordAttempt(t, s, one, attempt("no"), notify.Decision{Failed: true}); ended != "" {
			t.Errorf("ended %s", ended)
		}
		if got, err := s.Get(t.Context(), m.ID); err != nil || !got.Status.Active() {
			t.Errorf("the monitor is %s, %v", got.Status, err)
		}
		records, _, err := s.Events(t.Context(), m.ID, 10, 0)
		if err != nil || records[1].Status != "failed" || records[0].Status != "pending" {
			t.Errorf("the history has %+v, %v", records, err)
		}
		check(t, s.Redeliver(t.Context(), m.ID, one.ID))
		if records, _, _ = s.Events(t.Context(), m.ID, 10, 0); records[1].LongSchedule {
			t.Error("redelivered, it is still on the long schedule")
		}
	})
}

// leaseOne2 leases the event on the long schedule and the one behind it.
func leaseOne2(t *testing.T, s *postgres.Store) (late, behind delivery.Delivery) {
	t.Helper()
	leased := lease(t, s)
	if len(leased) != 2 {
		t.Fatalf("%d leased, want 2", len(leased))
	}
	return leased[0], leased[1]
}
