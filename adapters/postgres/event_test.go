package postgres_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestEventsAreListedNewestFirst(t *testing.T) {
	s := open(t, database(t))
	var stored []event.Event
	for second := range 4 {
		stored = append(stored, blackout(second))
	}
	m := registerWith(t, s, 1, stored...)
	slices.Reverse(stored)
	for offset := range 7 {
		for limit := 1; limit < 6; limit++ {
			page, total, err := s.Events(t.Context(), m.ID, limit, offset)
			if err != nil || total != 4 || len(page) != max(min(limit, 4-offset), 0) {
				t.Errorf("%d from %d: %d events of %d, %v", limit, offset, len(page), total, err)
			}
			for n, rec := range page {
				if e := stored[offset+n]; rec.EventID != e.ID || rec.Status != "pending" || rec.EventType != e.Type || !rec.CreatedAt.Equal(e.At) || rec.SentAt != nil {
					t.Errorf("%d from %d: record %d is %+v", limit, offset, n, rec)
				}
			}
		}
		_, _, err := s.Events(t.Context(), registration(2).ID, 10, offset)
		requireCode(t, err, monitor.NotFound)
	}
}

func TestRedeliverMakesAnEventPendingAgain(t *testing.T) {
	t.Run("with a fresh count and its attempts kept, at the end of the queue", func(t *testing.T) {
		s := open(t, database(t))
		first, second := blackout(1), blackout(2)
		m := registerWith(t, s, 1, first, second)
		recordAttempt(t, s, leaseOne(t, s), accepting, sent)
		out := leaseOne(t, s)
		for _, id := range []string{first.ID, second.ID} { // the second is pending, and stays as it is
			check(t, s.Redeliver(t.Context(), m.ID, id))
		}
		if n := len(lease(t, s)); n != 0 {
			t.Fatalf("%d leased beside %s", n, out.ID)
		}
		recordAttempt(t, s, out, accepting, sent)
		if l := leaseOne(t, s); l.ID != first.ID || l.Tried != 0 {
			t.Errorf("leased %+v, want %s", l, first.ID)
		}
		page, _, err := s.Events(t.Context(), m.ID, 2, 0)
		if err != nil || len(page[1].Attempts) != 1 || page[1].SentAt != nil {
			t.Errorf("the records are %+v, %v", page, err)
		}
	})

	t.Run("the monitor stays ended", func(t *testing.T) {
		s := open(t, database(t))
		e := blackout(1)
		m := registerWith(t, s, 1, e)
		recordAttempt(t, s, leaseOne(t, s), rejecting, failed)
		check(t, s.Redeliver(t.Context(), m.ID, e.ID))
		recordAttempt(t, s, leaseOne(t, s), accepting, sent)
		if m := getMonitor(t, s, m.ID); m.Status != monitor.Failed {
			t.Errorf("the status is %s", m.Status)
		}
	})

	t.Run("an event of another monitor, of none, or with no such id is not found", func(t *testing.T) {
		s := open(t, database(t))
		e, other := blackout(1), register(t, s, 2)
		m := registerWith(t, s, 1, e)
		requireCode(t, s.Redeliver(t.Context(), other.ID, e.ID), monitor.NotFound)
		requireCode(t, s.Redeliver(t.Context(), registration(3).ID, e.ID), monitor.NotFound)
		requireCode(t, s.Redeliver(t.Context(), m.ID, uuid.NewString()), monitor.NotFound)
		requireCode(t, s.Redeliver(t.Context(), m.ID, "../../etc"), monitor.NotFound)
	})
}
