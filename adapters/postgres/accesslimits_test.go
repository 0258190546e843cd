package postgres_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/monitors"
)

var (
	firstClient  = monitors.Client{1}
	secondClient = monitors.Client{2}
	newClient    = monitors.Client{3}
)

func allow(t *testing.T, s *postgres.Store, client monitors.Client, limit monitors.RateLimit, perMin int) time.Duration {
	t.Helper()
	return must(s.Allow(t.Context(), client, limit, perMin))(t)
}

// allowAll makes n requests, which must all be allowed.
func allowAll(t *testing.T, s *postgres.Store, client monitors.Client, limit monitors.RateLimit, perMin, n int) {
	t.Helper()
	for i := range n {
		if wait := allow(t, s, client, limit, perMin); wait != 0 {
			t.Fatalf("request %d of %d must wait %v", i+1, n, wait)
		}
	}
}

// requireWait fails the test unless least < wait ≤ most.
func requireWait(t *testing.T, wait, least, most time.Duration) {
	t.Helper()
	if wait <= least || wait > most {
		t.Fatalf("the wait is %v, want more than %v and at most %v", wait, least, most)
	}
}

// advanceClock makes the last requests of all clients older by d.
func advanceClock(t *testing.T, db *sql.DB, d time.Duration) {
	t.Helper()
	alter(t, db, `UPDATE rate_limits SET arrival_at = arrival_at - make_interval(secs => $1)`, d.Seconds())
}

// Section 12.3, decision A5. An interval is longer than any test. Each part has clients of its own.
func TestARateLimitAllowsItsRequestsPerMinute(t *testing.T) {
	s, db := newStore(t)

	t.Run("the whole limit may be used at once, and recovers evenly up to its maximum", func(t *testing.T) {
		client := monitors.Client{10}
		allowAll(t, s, client, monitors.Creating, 4, 4) // one every 15 s
		requireWait(t, allow(t, s, client, monitors.Creating, 4), 0, 15*time.Second)
		advanceClock(t, db, 31*time.Second)
		allowAll(t, s, client, monitors.Creating, 4, 2)
		requireWait(t, allow(t, s, client, monitors.Creating, 4), 0, 14*time.Second)
		advanceClock(t, db, time.Hour)
		allowAll(t, s, client, monitors.Creating, 4, 4)
		requireWait(t, allow(t, s, client, monitors.Creating, 4), 0, 15*time.Second)
	})

	t.Run("a request is allowed after the wait and not before, however many are refused", func(t *testing.T) {
		client := monitors.Client{11}
		allowAll(t, s, client, monitors.Querying, 1, 1)
		wait := allow(t, s, client, monitors.Querying, 1)
		for range 20 {
			requireWait(t, allow(t, s, client, monitors.Querying, 1), 0, wait)
		}
		advanceClock(t, db, wait-30*time.Second)
		requireWait(t, allow(t, s, client, monitors.Querying, 1), 0, 30*time.Second)
		advanceClock(t, db, 30*time.Second)
		allowAll(t, s, client, monitors.Querying, 1, 1)
	})

	t.Run("each client has both limits of its own", func(t *testing.T) {
		for _, client := range []monitors.Client{firstClient, secondClient} {
			allowAll(t, s, client, monitors.Creating, 1, 1)
			allowAll(t, s, client, monitors.Querying, 4, 4)
		}
		advanceClock(t, db, 10*time.Second)
		alter(t, db, `UPDATE rate_limits SET arrival_at = arrival_at - interval '10 seconds' WHERE budget = 'create' AND client = $1`, firstClient[:])
		requireWait(t, allow(t, s, firstClient, monitors.Creating, 1), 20*time.Second, 40*time.Second)
		requireWait(t, allow(t, s, secondClient, monitors.Creating, 1), 40*time.Second, 50*time.Second)
		requireWait(t, allow(t, s, firstClient, monitors.Querying, 4), 0, 5*time.Second)
	})

	t.Run("a request at another gateway counts, also if it is stored meanwhile", func(t *testing.T) {
		client := monitors.Client{12}
		other := holding(t, db, `INSERT INTO rate_limits VALUES ($1, 'create', now() + interval '1 minute')`, client[:])
		wait := inBackground(t, func() error {
			in, err := s.Allow(t.Context(), client, monitors.Creating, 4)
			if in <= 0 || in > 15*time.Second {
				t.Errorf("the wait is %v, want the next interval", in)
			}
			return err
		})
		eventually(t, "the request waits for the other one", func() bool { return waitingForLock(t, db) })
		check(t, other.Commit())
		wait()
	})

	t.Run("the largest limit, and one whose interval is no whole number of microseconds, are exact", func(t *testing.T) {
		allowAll(t, s, monitors.Client{13}, monitors.Querying, monitors.MaxPerMin, 3)
		allowAll(t, s, monitors.Client{13}, monitors.Creating, 7, 7)
		requireWait(t, allow(t, s, monitors.Client{13}, monitors.Creating, 7), 0, 8572*time.Millisecond)
	})
}

func TestIdleClientsAreDeleted(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	allowAll(t, s, firstClient, monitors.Creating, 10, 1)
	allowAll(t, s, secondClient, monitors.Creating, 10, 1)
	passesFor := func(client monitors.Client, d string) {
		t.Helper()
		alter(t, db, `UPDATE rate_limits SET arrival_at = now() - CAST($2 AS interval) WHERE client = $1`, client[:], d)
	}
	passesFor(firstClient, "61 minutes")
	allowAll(t, s, secondClient, monitors.Creating, 10, 1)
	passesFor(secondClient, "59 minutes")
	expectRows(t, db, `rate_limits`, 2)
	allowAll(t, s, newClient, monitors.Creating, 10, 1)
	expectRows(t, db, `rate_limits`, 3)
	other := open(t, dsn) // which has not looked yet
	allowAll(t, other, monitors.Client{4}, monitors.Creating, 10, 1)
	expect(t, "rows of a client that was not seen for an hour", countRows(t, db, `rate_limits WHERE client = $1`, firstClient[:]), 0)
	expectRows(t, db, `rate_limits`, 3)

	// More of them than are deleted at a time.
	alter(t, db, `INSERT INTO rate_limits SELECT sha256(convert_to(CAST(n AS text), 'UTF8')), 'create', now() - interval '2 hours' FROM generate_series(1, 1500) AS n`)
	third := open(t, dsn)
	allowAll(t, third, monitors.Client{5}, monitors.Creating, 10, 1)
	allowAll(t, third, monitors.Client{6}, monitors.Creating, 10, 1)
	expectRows(t, db, `rate_limits`, 5)
}

func TestAReturnedRequestIsAllowedAgain(t *testing.T) { // section 12.3
	s := open(t, database(t))
	allowAll(t, s, firstClient, monitors.Creating, 2, 2)
	check(t, s.Refund(t.Context(), firstClient, monitors.Creating, 2))
	allowAll(t, s, firstClient, monitors.Creating, 2, 1)
	requireWait(t, allow(t, s, firstClient, monitors.Creating, 2), 0, 30*time.Second)
	check(t, s.Refund(t.Context(), monitors.Client{9}, monitors.Creating, 2)) // who is not known
}
