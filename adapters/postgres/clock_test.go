package postgres_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// shiftClock acts as if the database's clock jumped by d: it moves all stored times
// the other proxied.
func shiftClock(t testing.TB, db *sql.DB, d time.Duration) {
	t.Helper()
	back := -d.Seconds()
	alter(t, db, `UPDATE monitor_events SET next_attempt_at = next_attempt_at + make_interval(secs => $1),
		leased_until = leased_until + make_interval(secs => $1)`, back)
	alter(t, db, `UPDATE monitors SET updated_at = updated_at + make_interval(secs => $1)`, back)
	alter(t, db, `UPDATE rate_limits SET arrival_at = arrival_at + make_interval(secs => $1)`, back)
	alter(t, db, `UPDATE idempotency_keys SET created_at = created_at + make_interval(secs => $1)`, back)
}

func TestADatabaseClockThatJumpsDelaysNothingForLong(t *testing.T) {
	for name, step := range map[string]time.Duration{"back": -time.Hour, "ahead": time.Hour} {
		// waiting is a monitor with an event in the queue.
		waiting := func(t *testing.T) (*postgres.Store, *sql.DB, monitor.Monitor) {
			t.Helper()
			dsn := database(t)
			s, db := open(t, dsn), raw(t, dsn)
			m := register(t, s, 1)
			acceptReport(t, s, m.ID, report(blackout(1), blackout(2)), monitor.Run)
			return s, db, m
		}
		soon := func(t *testing.T, s *postgres.Store, most time.Duration) {
			t.Helper()
			at, err := s.Outbox.NextDue(t.Context())
			if err != nil || at.IsZero() || time.Until(at) > most {
				t.Errorf("the next is due in %v, %v", time.Until(at), err)
			}
		}

		t.Run(name+": a due event is leased", func(t *testing.T) {
			s, db, _ := waiting(t)
			shiftClock(t, db, step)
			soon(t, s, 0)
			leaseOne(t, s)
		})

		t.Run(name+": a retry waits no longer than was chosen", func(t *testing.T) {
			s, db, _ := waiting(t)
			recordAttempt(t, s, leaseOne(t, s), rejecting, callback.Decision{RetryAt: time.Now().Add(time.Minute)})
			shiftClock(t, db, step)
			soon(t, s, 0)
			leaseOne(t, s)
		})

		t.Run(name+": an attempt is recorded", func(t *testing.T) {
			s, db, m := waiting(t)
			l := leaseOne(t, s)
			shiftClock(t, db, step)
			recordAttempt(t, s, l, rejecting, callback.Decision{RetryAt: time.Now()})
			soon(t, s, 0)
			l = leaseOne(t, s)
			if l.Attempts != 1 {
				t.Errorf("%d attempts", l.Attempts)
			}
			shiftClock(t, db, -step)
			recordAttempt(t, s, l, accepting, sent)
			if types := eventTypes(t, s, m.ID); len(types) != 2 {
				t.Errorf("its events are %v", types)
			}
			leaseOne(t, s)
		})

		t.Run(name+": a new idempotency key is valid", func(t *testing.T) {
			dsn := database(t)
			s, db := open(t, dsn), raw(t, dsn)
			m, once := registration(1), registry.IdempotencyKey{Key: registry.Digest{1}}
			if _, err := s.InsertIdempotent(t.Context(), m, unlimited, once); err != nil {
				t.Fatal(err)
			}
			shiftClock(t, db, step)
			again := registration(1)
			first, err := s.InsertIdempotent(t.Context(), again, unlimited, once)
			if err != nil || first == nil || first.Monitor.ID != m.ID {
				t.Errorf("first is %+v, %v", first, err)
			}
		})

		t.Run(name+": an exhausted rate limit recovers in time", func(t *testing.T) {
			const perMin = 5
			dsn := database(t)
			s, db := open(t, dsn), raw(t, dsn)
			allowAll(t, s, firstClient, registry.Creating, perMin, perMin)
			shiftClock(t, db, step)
			if wait := allow(t, s, firstClient, registry.Creating, perMin); wait > time.Minute/perMin {
				t.Errorf("the next may come in %v", wait)
			}
		})
	}

	t.Run("back: a lease expires after its full length", func(t *testing.T) {
		dsn := database(t)
		s, db := open(t, dsn), raw(t, dsn)
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
		held := leaseOne(t, s)
		shiftClock(t, db, -time.Hour)
		if n := len(lease(t, s)); n != 0 {
			t.Errorf("%d leased while it is being sent", n)
		}
		at, err := s.Outbox.NextDue(t.Context())
		if wait := time.Until(at); err != nil || wait > time.Minute || wait < 50*time.Second {
			t.Errorf("the next is due in %v, %v", wait, err)
		}
		// Its holder is as good as before.
		recordAttempt(t, s, held, rejecting, callback.Decision{RetryAt: time.Now()})
		if l := leaseOne(t, s); l.Attempts != 1 {
			t.Errorf("%d attempts", l.Attempts)
		}
	})

	t.Run("back: a lease further ahead than any lease expires after a full length", func(t *testing.T) {
		dsn := database(t)
		s, db := open(t, dsn), raw(t, dsn)
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
		leaseOne(t, s)
		shiftClock(t, db, -time.Hour)
		if n := len(lease(t, s)); n != 0 {
			t.Errorf("%d leased at once", n)
		}
		shiftClock(t, db, time.Minute+time.Second)
		leaseOne(t, s)
	})
}

func TestALeaseOverTwoMinutesIsRefused(t *testing.T) {
	if _, err := open(t, database(t)).Outbox.Lease(t.Context(), 1, time.Hour); err == nil {
		t.Error("it was given")
	}
}
