package postgres_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const term = time.Minute // for which a reservation is taken

// reserve makes a registered monitor a reservation, due so much later.
func reserve(t testing.TB, db *sql.DB, id monitor.ID, in time.Duration) {
	t.Helper()
	alter(t, db, `UPDATE monitors SET status = 'waiting', reserved_until = now() + make_interval(secs => $2) WHERE id = $1`, id, in.Seconds())
}

// reserved makes a new reservation, and a database behind it.
func reserved(t testing.TB, in time.Duration) (*postgres.Store, *sql.DB, monitor.Monitor) {
	t.Helper()
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	m := registered(t, s, 1)
	reserve(t, db, m.ID, in)
	return s, db, m
}

// due takes what is due.
func due(t testing.TB, s *postgres.Store) ([]supervisor.Reservation, time.Time) {
	t.Helper()
	taken, next, err := s.ClaimDue(t.Context(), term)
	if err != nil {
		t.Fatal(err)
	}
	return taken, next
}

// takes demands that exactly this is due.
func takes(t testing.TB, s *postgres.Store, want ...supervisor.Reservation) {
	t.Helper()
	if taken, _ := due(t, s); !slices.Equal(taken, want) {
		t.Fatalf("taken are %v, want %v", taken, want)
	}
}

func TestTakingReservations(t *testing.T) { // A10
	t.Run("nothing is due of what is no reservation", func(t *testing.T) {
		s := open(t, database(t))
		registered(t, s, 1)
		if taken, next := due(t, s); len(taken) != 0 || !next.IsZero() {
			t.Errorf("taken %v, next %v", taken, next)
		}
	})

	t.Run("before its time one is not due, and it is told when it will be", func(t *testing.T) {
		s, _, _ := reserved(t, time.Hour)
		taken, next := due(t, s)
		if len(taken) != 0 || (time.Until(next)-time.Hour).Abs() > 5*time.Second {
			t.Errorf("taken %v, next in %v", taken, time.Until(next))
		}
	})

	t.Run("of several the next is the earliest", func(t *testing.T) {
		s, db, _ := reserved(t, 2*time.Hour)
		reserve(t, db, registered(t, s, 2).ID, time.Hour)
		reserve(t, db, registered(t, s, 3).ID, 3*time.Hour)
		if _, next := due(t, s); (time.Until(next) - time.Hour).Abs() > 5*time.Second {
			t.Errorf("next in %v", time.Until(next))
		}
	})

	t.Run("in its time one is taken with its next generation, and by nobody else", func(t *testing.T) {
		s, _, m := reserved(t, -time.Second)
		takes(t, s, supervisor.Reservation{ID: m.ID, Generation: m.Generation + 1})
		taken, next := due(t, s)
		if len(taken) != 0 || (time.Until(next)-term).Abs() > 5*time.Second {
			t.Errorf("taken %v, next in %v", taken, time.Until(next))
		}
		if g := got(t, s, m.ID); g.Generation != m.Generation+1 || g.Status != monitor.Waiting {
			t.Errorf("it is now %+v", g)
		}
	})

	t.Run("what was due is told to be looked for again", func(t *testing.T) {
		s, _, _ := reserved(t, -time.Second)
		if _, next := due(t, s); next.IsZero() || time.Until(next) > 0 {
			t.Errorf("next is %v", next)
		}
	})

	t.Run("one taken by a gateway that is heard of no more is due again", func(t *testing.T) {
		s, db, m := reserved(t, -time.Second)
		takes(t, s, supervisor.Reservation{ID: m.ID, Generation: 2})
		alter(t, db, `UPDATE monitors SET reserved_until = reserved_until - make_interval(secs => $1)`, term.Seconds())
		takes(t, s, supervisor.Reservation{ID: m.ID, Generation: 3})
	})

	t.Run("one that was ended is not due, and does not hide the next", func(t *testing.T) {
		s, db, m := reserved(t, -time.Second)
		if _, err := s.End(t.Context(), m.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		for _, left := range []string{`SET status = status`, `SET reserved_until = now() - interval '1 hour'`} {
			alter(t, db, `UPDATE monitors `+left)
			if taken, next := due(t, s); len(taken) != 0 || !next.IsZero() {
				t.Errorf("taken %v, next %v", taken, next)
			}
		}
		other := registered(t, s, 2)
		reserve(t, db, other.ID, time.Hour)
		if _, next := due(t, s); time.Until(next) < 50*time.Minute {
			t.Errorf("next in %v", time.Until(next))
		}
		reserve(t, db, other.ID, -time.Second)
		takes(t, s, supervisor.Reservation{ID: other.ID, Generation: 2})
	})

	t.Run("one that somebody is at work on is left for the next look", func(t *testing.T) {
		s, db, m := reserved(t, -time.Second)
		other := registered(t, s, 2)
		reserve(t, db, other.ID, -time.Second)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(t.Context(), `SELECT 1 FROM monitors WHERE id = $1 FOR UPDATE`, m.ID); err != nil {
			t.Fatal(err)
		}
		takes(t, s, supervisor.Reservation{ID: other.ID, Generation: 2})
		if _, next := due(t, s); next.IsZero() || time.Until(next) > 0 {
			t.Errorf("next is %v", next)
		}
		_ = tx.Rollback()
		takes(t, s, supervisor.Reservation{ID: m.ID, Generation: 2})
	})

	t.Run("of more than one look takes, the earliest are taken first", func(t *testing.T) {
		s, db, late := reserved(t, -time.Second)
		for n := range postgres.ClaimBatch {
			reserve(t, db, registered(t, s, 2+n).ID, -time.Hour)
		}
		taken, _ := due(t, s)
		if len(taken) != postgres.ClaimBatch || slices.ContainsFunc(taken, func(r supervisor.Reservation) bool { return r.ID == late.ID }) {
			t.Errorf("taken are %d: %v", len(taken), taken)
		}
		takes(t, s, supervisor.Reservation{ID: late.ID, Generation: 2})
	})
}

func TestTakingReservationsFromManySidesAtOnce(t *testing.T) { // A10, O5
	t.Run("each of 100 is taken and promoted exactly once by two gateways", func(t *testing.T) {
		dsn := database(t)
		stores, db := []*postgres.Store{open(t, dsn), open(t, dsn)}, raw(t, dsn)
		for n := range 100 {
			registered(t, stores[0], n)
		}
		alter(t, db, `UPDATE monitors SET status = 'waiting', reserved_until = now() - interval '1 second'`)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		promoted := make(chan monitor.Monitor, 1000)
		var wg sync.WaitGroup
		for i := range 8 {
			s := stores[i%2]
			wg.Go(func() {
				for {
					taken, next, err := s.ClaimDue(ctx, term)
					if err != nil {
						t.Error(err)
						return
					}
					for _, r := range taken {
						m, err := s.Promote(ctx, r, "here")
						if err != nil {
							t.Error(err)
							return
						}
						promoted <- m
					}
					if next.IsZero() {
						return
					}
				}
			})
		}
		wg.Wait()
		close(promoted)
		times := map[monitor.ID]int{}
		for m := range promoted {
			times[m.ID]++
			if m.Generation != 2 {
				t.Errorf("%s has generation %d", m.ID, m.Generation)
			}
		}
		if len(times) != 100 {
			t.Errorf("%d were promoted", len(times))
		}
		for id, n := range times {
			if n != 1 {
				t.Errorf("%s was promoted %d times", id, n)
			}
		}
	})
}

// The clock of the gateway that registers may be wrong, and it may die before it
// promotes what it has registered.
func TestANewMonitorIsHeldByTheClockOfTheDatabase(t *testing.T) {
	const hold = 10 * time.Second
	for name, wrong := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run("its gateway's is an hour "+name, func(t *testing.T) {
			s := open(t, database(t))
			m := registration(1)
			m.CreatedAt = time.Now().Add(wrong)
			m.UpdatedAt, m.ReservedUntil = m.CreatedAt, m.CreatedAt.Add(hold)
			if err := s.Insert(t.Context(), m, plenty); err != nil {
				t.Fatal(err)
			}
			taken, next := due(t, s)
			if len(taken) != 0 || (time.Until(next)-hold).Abs() > 5*time.Second {
				t.Errorf("taken %v, next in %v", taken, time.Until(next))
			}
		})
	}

	t.Run("a reservation is for its time of day", func(t *testing.T) { // A10
		s := open(t, database(t))
		m := registration(1)
		m.CreatedAt = time.Now().Add(-time.Hour)
		m.Status, m.ReservedUntil = monitor.Waiting, time.Now().Add(time.Minute)
		if err := s.Insert(t.Context(), m, plenty); err != nil {
			t.Fatal(err)
		}
		if _, next := due(t, s); (time.Until(next) - time.Minute).Abs() > 5*time.Second {
			t.Errorf("next in %v", time.Until(next))
		}
	})
}
