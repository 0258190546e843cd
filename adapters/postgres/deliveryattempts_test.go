package postgres_test

import (
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
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(page) // oldest first
		return page
	}
	due := notify.Decision{RetryAt: time.Now()}

	t.Run("every attempt is stored, and a success makes the event sent", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
		recordAttempt(t, s, leaseOne(t, s), rejecting, due)
		l := leaseOne(t, s)
		if l.Tried != 1 {
			t.Errorf("%d attempts before the second", l.Tried)
		}
		second := accepting
		second.At = noon.Add(time.Second)
		recordAttempt(t, s, l, second, sent)
		rec := history(t, s, m.ID)[0]
		want := []event.Attempt{{At: noon, Status: 500, Error: "HTTP 500"}, {At: second.At, Status: 200}}
		if rec.Status != "sent" || rec.SentAt == nil || !slices.Equal(rec.Attempts, want) {
			t.Errorf("the record is %+v", rec)
		}
	})

	t.Run("the last failure ends the monitor and its other pending events", func(t *testing.T) {
		s := open(t, database(t))
		m, other := register(t, s, 1), register(t, s, 2)
		acceptReport(t, s, m.ID, report(blackout(1), blackout(2)), monitor.Run)
		l := leaseOne(t, s)
		acceptReport(t, s, other.ID, report(blackout(3)), monitor.Run)
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

	t.Run("recording it again changes nothing and returns the same", func(t *testing.T) {
		for name, v := range map[string]notify.Decision{"sent": sent, "failed": failed, "retry": due} {
			s := open(t, database(t))
			m := register(t, s, 1)
			acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
			l := leaseOne(t, s)
			first := recordAttempt(t, s, l, rejecting, v)
			before := history(t, s, m.ID)
			if again := recordAttempt(t, s, l, rejecting, v); again != first {
				t.Errorf("%s: ended is %q, then %q", name, first, again)
			}
			if after := history(t, s, m.ID); !reflect.DeepEqual(after, before) {
				t.Errorf("%s: before %+v, after %+v", name, before, after)
			}
		}
	})

	t.Run("a failure after the lease has expired changes nothing", func(t *testing.T) {
		dsn := database(t)
		s, db := open(t, dsn), raw(t, dsn)
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
		late := leaseOne(t, s)
		endLeases(t, db)
		recordAttempt(t, s, leaseOne(t, s), accepting, sent)
		if ended := recordAttempt(t, s, late, rejecting, failed); ended != "" {
			t.Errorf("it ended %s", ended)
		}
		if rec := history(t, s, m.ID)[0]; rec.Status != "sent" {
			t.Errorf("the record is %+v", rec)
		}
	})

	t.Run("a failure under an earlier lease does not end the new one", func(t *testing.T) {
		for name, v := range map[string]notify.Decision{"retry": due, "failed": failed} {
			dsn := database(t)
			s, db := open(t, dsn), raw(t, dsn)
			m := register(t, s, 1)
			acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
			late := leaseOne(t, s)
			endLeases(t, db)
			now := leaseOne(t, s)
			if ended := recordAttempt(t, s, late, rejecting, v); ended != "" {
				t.Errorf("%s: it ended %s", name, ended)
			}
			if n := len(lease(t, s)); n != 0 {
				t.Errorf("%s: it is out a second time", name)
			}
			recordAttempt(t, s, now, accepting, sent)
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

	t.Run("an error text with a NUL, not UTF-8 and too long is stored", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
		bad := rejecting
		bad.Error = "a\x00\xff" + string(make([]byte, 5000))
		recordAttempt(t, s, leaseOne(t, s), bad, due)
		if rec := history(t, s, m.ID)[0]; rec.LastError == nil || len(*rec.LastError) > 1010 {
			t.Errorf("the record is %+v", rec)
		}
	})
}

func TestALeaseTellsWhenTheNextIsDue(t *testing.T) {
	next := func(t *testing.T, s *postgres.Store) time.Time {
		t.Helper()
		return must[delivery.Leased](t)(s.Lease(t.Context(), 10, time.Minute)).NextAt
	}
	within := func(t *testing.T, at, want time.Time) {
		t.Helper()
		if d := at.Sub(want).Abs(); d > 5*time.Second {
			t.Errorf("due at %v, want about %v", at, want)
		}
	}

	t.Run("zero if nothing is pending", func(t *testing.T) {
		if at := next(t, open(t, database(t))); !at.IsZero() {
			t.Errorf("due at %v", at)
		}
	})

	t.Run("the retry of the first of a queue, although later events are pending", func(t *testing.T) {
		s := open(t, database(t))
		acceptReport(t, s, register(t, s, 1).ID, report(blackout(1), blackout(2)), monitor.Run)
		at := time.Now().Add(time.Minute)
		recordAttempt(t, s, leaseOne(t, s), rejecting, notify.Decision{RetryAt: at})
		within(t, next(t, s), at)
	})

	t.Run("the end of a lease", func(t *testing.T) {
		s := open(t, database(t))
		acceptReport(t, s, register(t, s, 1).ID, report(blackout(1)), monitor.Run)
		leaseOne(t, s)
		within(t, next(t, s), time.Now().Add(time.Minute))
	})

	t.Run("more may be due at once if as many were leased as were asked for", func(t *testing.T) {
		s := open(t, database(t))
		for n := range 3 {
			acceptReport(t, s, register(t, s, n).ID, report(blackout(n)), monitor.Run)
		}
		for _, want := range []bool{true, false} {
			if leased := must[delivery.Leased](t)(s.Lease(t.Context(), 2, time.Minute)); leased.More != want {
				t.Errorf("with %d leased, there are more: %t", len(leased.Deliveries), leased.More)
			}
		}
	})
}
