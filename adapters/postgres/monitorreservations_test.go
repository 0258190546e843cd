package postgres_test

import (
	"database/sql"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const term = 10 * time.Minute // until an unpromoted reservation is due again

// reserve makes a registered monitor a reservation that is due in the given time.
func reserve(t testing.TB, db *sql.DB, id monitor.ID, in time.Duration) {
	t.Helper()
	alter(t, db, `UPDATE monitors SET status = 'waiting', reserved_until = now() + make_interval(secs => $2) WHERE id = $1`, id, in.Seconds())
}

// newReservation stores a new reservation and returns its database as well.
func newReservation(t testing.TB, in time.Duration) (*postgres.Store, *sql.DB, monitor.Monitor) {
	t.Helper()
	s, db := newStore(t)
	m := register(t, s, 1)
	reserve(t, db, m.ID, in)
	return s, db, m
}

func claimDue(t testing.TB, s *postgres.Store) ([]supervisor.Reservation, time.Time) {
	t.Helper()
	claimed, next, err := s.ClaimDue(t.Context(), term)
	check(t, err)
	return claimed, next
}

func requireDue(t testing.TB, s *postgres.Store, want ...supervisor.Reservation) {
	t.Helper()
	taken, _ := claimDue(t, s)
	require(t, "claimed reservations", taken, want)
}

// requireNextDue fails the test unless none is due now and the next is due in the given time; 0: none is.
func requireNextDue(t testing.TB, s *postgres.Store, in time.Duration) {
	t.Helper()
	taken, next := claimDue(t, s)
	if d := time.Until(next); len(taken) != 0 || next.IsZero() != (in == 0) || in != 0 && (d-in).Abs() > patience {
		t.Fatalf("taken are %v, the next is due in %v, want %v", taken, d, in)
	}
}

func TestDueReservationsAreClaimed(t *testing.T) { // A10
	t.Run("only reservations are due, and before its time the earliest due time is returned", func(t *testing.T) {
		s, db := newStore(t)
		register(t, s, 1)
		requireNextDue(t, s, 0)
		for n, in := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
			reserve(t, db, register(t, s, 2+n).ID, in)
		}
		requireNextDue(t, s, time.Hour)
	})

	t.Run("a due one is claimed with its next generation, and again if it is not promoted", func(t *testing.T) {
		s, db, m := newReservation(t, -time.Second)
		taken, next := claimDue(t, s)
		if want := (supervisor.Reservation{ID: m.ID, Generation: 2}); !slices.Equal(taken, []supervisor.Reservation{want}) || next.IsZero() || time.Until(next) > 0 {
			t.Errorf("taken are %v, want %v; the next is due at %v, want at once", taken, want, next)
		}
		requireNextDue(t, s, term)
		expect(t, "the generation", getMonitor(t, s, m.ID).Generation, 2)
		alter(t, db, `UPDATE monitors SET reserved_until = reserved_until - make_interval(secs => $1)`, term.Seconds())
		requireDue(t, s, supervisor.Reservation{ID: m.ID, Generation: 3})
	})

	t.Run("an ended one is skipped", func(t *testing.T) {
		s, db, m := newReservation(t, -time.Second)
		stopMonitor(t, s, m.ID)
		for _, left := range []string{`SET status = status`, `SET reserved_until = now() - interval '1 hour'`} {
			alter(t, db, `UPDATE monitors `+left)
			requireNextDue(t, s, 0)
		}
		other := register(t, s, 2)
		reserve(t, db, other.ID, time.Hour)
		requireNextDue(t, s, time.Hour)
		reserve(t, db, other.ID, -time.Second)
		requireDue(t, s, supervisor.Reservation{ID: other.ID, Generation: 2})
	})

	t.Run("a locked one is left for the next call", func(t *testing.T) {
		s, db, m := newReservation(t, -time.Second)
		other := register(t, s, 2)
		reserve(t, db, other.ID, -time.Second)
		tx := holding(t, db, `SELECT 1 FROM monitors WHERE id = $1 FOR UPDATE`, m.ID)
		requireDue(t, s, supervisor.Reservation{ID: other.ID, Generation: 2})
		if _, next := claimDue(t, s); next.IsZero() || time.Until(next) > 0 {
			t.Errorf("next is %v", next)
		}
		check(t, tx.Rollback())
		requireDue(t, s, supervisor.Reservation{ID: m.ID, Generation: 2})
	})

	t.Run("the earliest are claimed first", func(t *testing.T) {
		s, db, late := newReservation(t, -time.Second)
		for n := range postgres.ClaimBatch {
			reserve(t, db, register(t, s, 2+n).ID, -time.Hour)
		}
		taken, _ := claimDue(t, s)
		if len(taken) != postgres.ClaimBatch || slices.ContainsFunc(taken, func(r supervisor.Reservation) bool { return r.ID == late.ID }) {
			t.Errorf("taken are %d: %v", len(taken), taken)
		}
		requireDue(t, s, supervisor.Reservation{ID: late.ID, Generation: 2})
	})
}

func TestTwoGatewaysNeverClaimTheSameReservation(t *testing.T) { // A10, O5
	const reservations = 100
	stores, db := newGateways(t)
	for n := range reservations {
		register(t, stores[0], n)
	}
	alter(t, db, `UPDATE monitors SET status = 'waiting', reserved_until = now() - interval '1 second'`)
	var promoted atomic.Int64
	atOnce(t, 8, func(i int) error {
		for s := stores[i%2]; ; {
			claimed, next, err := s.ClaimDue(t.Context(), term)
			for _, r := range claimed {
				expect(t, "the generation", r.Generation, 2)
				err = errors.Join(err, errorOf(s.Promote(t.Context(), r, "here")))
				promoted.Add(1)
			}
			if err != nil || next.IsZero() {
				return err
			}
		}
	})
	expect(t, "promoted reservations", promoted.Load(), reservations)
	expectRows(t, db, "monitors WHERE generation = 2 AND reserved_until IS NULL", reservations)
}

// The clock of the registering gateway may be wrong, and the gateway may die before
// it promotes the monitor.
func TestTheHoldOfANewMonitorFollowsTheDatabaseClock(t *testing.T) {
	const hold = 5 * time.Minute // longer than requireNextDue tolerates
	now := time.Now()
	for name, c := range map[string]struct {
		status             monitor.Status
		created, heldUntil time.Time
	}{
		"the gateway's clock is an hour ahead":              {monitor.Initializing, now.Add(time.Hour), now.Add(time.Hour + hold)},
		"the gateway's clock is an hour behind":             {monitor.Initializing, now.Add(-time.Hour), now.Add(-time.Hour + hold)},
		"a scheduled reservation, whose time is kept (A10)": {monitor.Waiting, now.Add(-time.Hour), now.Add(hold)},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, database(t))
			m := registration(1)
			m.Status, m.CreatedAt, m.UpdatedAt, m.ReservedUntil = c.status, c.created, c.created, c.heldUntil
			check(t, s.Insert(t.Context(), m, unlimited))
			requireNextDue(t, s, hold)
		})
	}
}

func TestReleasedMonitorsAreDueAtOnce(t *testing.T) {
	s := open(t, database(t))
	held, launched, taken, ended := register(t, s, 1), register(t, s, 2), register(t, s, 3), register(t, s, 4)
	advanceGeneration(t, s, launched.ID, "here")
	advanceGeneration(t, s, taken.ID, "elsewhere")
	stopMonitor(t, s, ended.ID)
	for range 2 { // it may be repeated
		check(t, s.Release(t.Context(), []supervisor.Reservation{
			{ID: held.ID, Generation: 1}, {ID: launched.ID, Generation: 2},
			{ID: taken.ID, Generation: 1}, // another gateway has a newer one
			{ID: ended.ID, Generation: 1}, {ID: "mon-unknown", Generation: 1},
		}))
	}
	got, _ := claimDue(t, s)
	slices.SortFunc(got, func(a, b supervisor.Reservation) int { return a.Generation - b.Generation })
	// The monitor with a worker was handed over by a gateway that stopped.
	expect(t, "due reservations", got, []supervisor.Reservation{{ID: held.ID, Generation: 2}, {ID: launched.ID, Generation: 3, HandedOver: true}})
	expect(t, "active monitors", ids(must(s.ListActive(t.Context()))(t)), []monitor.ID{taken.ID})
}

func TestAReservationIsPromotedOnce(t *testing.T) { // A10
	claimed := func(t *testing.T) (*postgres.Store, *sql.DB, supervisor.Reservation) {
		t.Helper()
		s, db, m := newReservation(t, -time.Second)
		r := supervisor.Reservation{ID: m.ID, Generation: 2}
		requireDue(t, s, r)
		return s, db, r
	}
	promote := func(t *testing.T, s *postgres.Store, r supervisor.Reservation) {
		t.Helper()
		m, err := s.Promote(t.Context(), r, "here")
		if err != nil || m.ID != r.ID || m.Generation != r.Generation || m.Status != monitor.Waiting {
			t.Fatalf("promoted is %+v, %v", m, err)
		}
	}

	t.Run("it is resumed when it is promoted, and never due again", func(t *testing.T) {
		s, _, r := claimed(t)
		expectLen(t, "active monitors before the promotion", must(s.ListActive(t.Context()))(t), 0)
		for range 2 { // it may be repeated
			promote(t, s, r)
		}
		expect(t, "active monitors", ids(must(s.ListActive(t.Context()))(t)), []monitor.ID{r.ID})
		requireNextDue(t, s, 0)
	})

	t.Run("an ended or unknown one is not promoted", func(t *testing.T) {
		s, _, r := claimed(t)
		stopMonitor(t, s, r.ID)
		requireCode(t, errorOf(s.Promote(t.Context(), r, "here")), monitor.NotFound)
		requireCode(t, errorOf(s.Promote(t.Context(), supervisor.Reservation{ID: registration(1).ID, Generation: 1}, "here")), monitor.NotFound)
	})

	t.Run("one that another gateway has claimed since is not promoted", func(t *testing.T) {
		s, db, r := claimed(t)
		alter(t, db, `UPDATE monitors SET reserved_until = now() - interval '1 second'`)
		next := supervisor.Reservation{ID: r.ID, Generation: 3}
		requireDue(t, s, next)
		requireSuperseded(t, errorOf(s.Promote(t.Context(), r, "here")))
		promote(t, s, next)
	})
}
