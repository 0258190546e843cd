package postgres_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestEventsAreListedNewestFirst(t *testing.T) {
	t.Run("in pages, with the total", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		first, second, third := blackout(1), blackout(2), blackout(3)
		acceptReport(t, s, m.ID, report(first, second, third), monitor.Run)
		page, total, err := s.Events(t.Context(), m.ID, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		if total != 3 || len(page) != 2 || page[0].EventID != second.ID || page[1].EventID != first.ID {
			t.Errorf("%d in all, the page is %+v", total, page)
		}
		if rec := page[0]; rec.Status != "pending" || rec.EventType != second.Type || !rec.CreatedAt.Equal(second.At) || rec.SentAt != nil {
			t.Errorf("the record is %+v", rec)
		}
	})

	t.Run("with the total on each page", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(blackout(1), blackout(2), blackout(3), blackout(4)), monitor.Run)
		for offset := range 7 {
			for limit := 1; limit < 6; limit++ {
				page, total, err := s.Events(t.Context(), m.ID, limit, offset)
				if err != nil || total != 4 || len(page) != max(min(limit, 4-offset), 0) {
					t.Errorf("%d from %d: %d events of %d, %v", limit, offset, len(page), total, err)
				}
			}
		}
	})

	t.Run("an unknown monitor is not found", func(t *testing.T) {
		s := open(t, database(t))
		for _, offset := range []int{0, 3} {
			_, _, err := s.Events(t.Context(), registration(1).ID, 10, offset)
			requireCode(t, err, monitor.NotFound)
		}
	})
}

func TestRedeliverMakesAnEventPendingAgain(t *testing.T) {
	t.Run("a sent event is pending again, with a fresh count and its attempts kept", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		e := blackout(1)
		acceptReport(t, s, m.ID, report(e), monitor.Run)
		recordAttempt(t, s, leaseOne(t, s), accepting, sent)
		if err := s.Redeliver(t.Context(), m.ID, e.ID); err != nil {
			t.Fatal(err)
		}
		if l := leaseOne(t, s); l.ID != e.ID || l.Tried != 0 {
			t.Errorf("the delivery is %+v", l)
		}
		page, _, err := s.Events(t.Context(), m.ID, 1, 0)
		if err != nil || len(page[0].Attempts) != 1 || page[0].SentAt != nil {
			t.Errorf("the record is %+v, %v", page, err)
		}
	})

	t.Run("it goes to the end of the queue", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		first, second := blackout(1), blackout(2)
		acceptReport(t, s, m.ID, report(first, second), monitor.Run)
		recordAttempt(t, s, leaseOne(t, s), accepting, sent)
		out := leaseOne(t, s)
		if err := s.Redeliver(t.Context(), m.ID, first.ID); err != nil {
			t.Fatal(err)
		}
		if n := len(lease(t, s)); n != 0 {
			t.Fatalf("%d leased beside %s", n, out.ID)
		}
		recordAttempt(t, s, out, accepting, sent)
		if l := leaseOne(t, s); l.ID != first.ID {
			t.Errorf("leased %s, want %s", l.ID, first.ID)
		}
	})

	t.Run("the monitor stays ended", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		e := blackout(1)
		acceptReport(t, s, m.ID, report(e), monitor.Run)
		recordAttempt(t, s, leaseOne(t, s), rejecting, failed)
		if err := s.Redeliver(t.Context(), m.ID, e.ID); err != nil {
			t.Fatal(err)
		}
		recordAttempt(t, s, leaseOne(t, s), accepting, sent)
		if m := getMonitor(t, s, m.ID); m.Status != monitor.Failed {
			t.Errorf("the status is %s", m.Status)
		}
	})

	t.Run("a pending event stays as it is", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		e := blackout(1)
		acceptReport(t, s, m.ID, report(e), monitor.Run)
		leaseOne(t, s)
		if err := s.Redeliver(t.Context(), m.ID, e.ID); err != nil {
			t.Fatal(err)
		}
		if n := len(lease(t, s)); n != 0 {
			t.Errorf("%d leased a second time", n)
		}
	})

	t.Run("an event of another monitor, of none, or with no such id is not found", func(t *testing.T) {
		s := open(t, database(t))
		m, other := register(t, s, 1), register(t, s, 2)
		e := blackout(1)
		acceptReport(t, s, m.ID, report(e), monitor.Run)
		requireCode(t, s.Redeliver(t.Context(), other.ID, e.ID), monitor.NotFound)
		requireCode(t, s.Redeliver(t.Context(), registration(3).ID, e.ID), monitor.NotFound)
		requireCode(t, s.Redeliver(t.Context(), m.ID, uuid.NewString()), monitor.NotFound)
		requireCode(t, s.Redeliver(t.Context(), m.ID, "../../etc"), monitor.NotFound)
	})
}
