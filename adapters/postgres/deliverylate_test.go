package postgres_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

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
		if n := len(lease(t, s)); n != 0 {
			t.Errorf("%d more while one is out", n)
		}
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
