package postgres_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestNextDue(t *testing.T) {
	next := func(t *testing.T, s *postgres.Store) time.Time {
		t.Helper()
		at, err := s.NextDue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	within := func(t *testing.T, at, want time.Time) {
		t.Helper()
		if d := at.Sub(want).Abs(); d > 5*time.Second {
			t.Errorf("due at %v, want about %v", at, want)
		}
	}

	t.Run("nothing pending is never", func(t *testing.T) {
		if at := next(t, open(t, database(t))); !at.IsZero() {
			t.Errorf("due at %v", at)
		}
	})

	t.Run("a new event is due now", func(t *testing.T) {
		s := open(t, database(t))
		accepted(t, s, registered(t, s, 1).ID, report(blackout(1)), monitor.Run)
		within(t, next(t, s), time.Now())
	})

	t.Run("of a monitor that waits for a retry it is the retry, though more is pending", func(t *testing.T) {
		s := open(t, database(t))
		accepted(t, s, registered(t, s, 1).ID, report(blackout(1), blackout(2)), monitor.Run)
		at := time.Now().Add(time.Minute)
		recorded(t, s, leasedOne(t, s), turned, delivery.Decision{RetryAt: at})
		within(t, next(t, s), at)
	})

	t.Run("what is leased is due when the lease ends", func(t *testing.T) {
		s := open(t, database(t))
		accepted(t, s, registered(t, s, 1).ID, report(blackout(1)), monitor.Run)
		leasedOne(t, s)
		within(t, next(t, s), time.Now().Add(time.Minute))
	})
}
