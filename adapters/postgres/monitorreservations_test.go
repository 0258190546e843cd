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

const term = time.Minute // until an unpromoted reservation is due again

// reserve makes a registered monitor a reservation that is due in the given time.
func reserve(t testing.TB, db *sql.DB, id monitor.ID, in time.Duration) {
	t.Helper()
	alter(t, db, `UPDATE monitors SET status = 'waiting', reserved_until = now() + make_interval(secs => $2) WHERE id = $1`, id, in.Seconds())
}

// newReservation stores a new reservation and returns its database as well.
func newReservation(t testing.TB, in time.Duration) (*postgres.Store, *sql.DB, monitor.Monitor) {
	t.Helper()
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	m := register(t, s, 1)
	reserve(t, db, m.ID, in)
	return s, db, m
}

// claimDue claims the due reservations.
func claimDue(t testing.TB, s *postgres.Store) ([]supervisor.Reservation, time.Time) {
	t.Helper()
	claimed, next, err := s.ClaimDue(t.Context(), term)
	if err != nil {
		t.Fatal(err)
	}
	return claimed, next
}

// requireDue fails the test unless exactly these are due.
func requireDue(t testing.TB, s *postgres.Store, want ...supervisor.Reservation) {
	t.Helper()
	if taken, _ := claimDue(t, s); !slices.Equal(taken, want) {
		t.Fatalf("taken are %v, want %v", taken, want)
	}
}

func TestDueReservationsAreClaimed(t *testing.T) { // A10
	t.Run("only reservations are due", func(t *testing.T) {
		s := open(t, database(t))
		register(t, s, 1)
		if claimed, next := claimDue(t, s); len(claimed) != 0 || !next.IsZero() {
			t.Errorf("claimed %v, next %v", claimed, next)
		}
	})

	t.Run("before its time the due time is returned", func(t *testing.T) {
		s, _, _ := newReservation(t, time.Hour)
		taken, next := claimDue(t, s)
		if len(taken) != 0 || (time.Until(next)-time.Hour).Abs() > 5*time.Second {
			t.Errorf("taken %v, next in %v", taken, time.Until(next))
		}
	})

	t.Run("the earliest due time is returned", func(t *testing.T) {
		s, db, _ := newReservation(t, 2*time.Hour)
		reserve(t, db, register(t, s, 2).ID, time.Hour)
		reserve(t, db, register(t, s, 3).ID, 3*time.Hour)
		if _, next := claimDue(t, s); (time.Until(next) - time.Hour).Abs() > 5*time.Second {
			t.Errorf("next in %v", time.Until(next))
		}
	})

	t.Run("a due one is claimed once, with its next generation", func(t *testing.T) {
		s, _, m := newReservation(t, -time.Second)
		requireDue(t, s, supervisor.Reservation{ID: m.ID, Generation: m.Generation + 1})
		taken, next := claimDue(t, s)
		if len(taken) != 0 || (time.Until(next)-term).Abs() > 5*time.Second {
			t.Errorf("taken %v, next in %v", taken, time.Until(next))
		}
		if g := getMonitor(t, s, m.ID); g.Generation != m.Generation+1 || g.Status != monitor.Waiting {
			t.Errorf("it is now %+v", g)
		}
	})

	t.Run("the next due time has passed if one was claimed", func(t *testing.T) {
		s, _, _ := newReservation(t, -time.Second)
		if _, next := claimDue(t, s); next.IsZero() || time.Until(next) > 0 {
			t.Errorf("next is %v", next)
		}
	})

	t.Run("one that is not promoted becomes due again", func(t *testing.T) {
		s, db, m := newReservation(t, -time.Second)
		requireDue(t, s, supervisor.Reservation{ID: m.ID, Generation: 2})
		alter(t, db, `UPDATE monitors SET reserved_until = reserved_until - make_interval(secs => $1)`, term.Seconds())
		requireDue(t, s, supervisor.Reservation{ID: m.ID, Generation: 3})
	})

	t.Run("an ended one is skipped", func(t *testing.T) {
		s, db, m := newReservation(t, -time.Second)
		if _, err := s.End(t.Context(), m.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		for _, left := range []string{`SET status = status`, `SET reserved_until = now() - interval '1 hour'`} {
			alter(t, db, `UPDATE monitors `+left)
			if claimed, next := claimDue(t, s); len(claimed) != 0 || !next.IsZero() {
				t.Errorf("claimed %v, next %v", claimed, next)
			}
		}
		other := register(t, s, 2)
		reserve(t, db, other.ID, time.Hour)
		if _, next := claimDue(t, s); time.Until(next) < 50*time.Minute {
			t.Errorf("next in %v", time.Until(next))
		}
		reserve(t, db, other.ID, -time.Second)
		requireDue(t, s, supervisor.Reservation{ID: other.ID, Generation: 2})
	})

	t.Run("a locked one is left for the next call", func(t *testing.T) {
		s, db, m := newReservation(t, -time.Second)
		other := register(t, s, 2)
		reserve(t, db, other.ID, -time.Second)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(t.Context(), `SELECT 1 FROM monitors WHERE id = $1 FOR UPDATE`, m.ID); err != nil {
			t.Fatal(err)
		}
		requireDue(t, s, supervisor.Reservation{ID: other.ID, Generation: 2})
		if _, next := claimDue(t, s); next.IsZero() || time.Until(next) > 0 {
			t.Errorf("next is %v", next)
		}
		_ = tx.Rollback()
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
	t.Run("each of 100 is claimed and promoted once", func(t *testing.T) {
		dsn := database(t)
		stores, db := []*postgres.Store{open(t, dsn), open(t, dsn)}, raw(t, dsn)
		for n := range 100 {
			register(t, stores[0], n)
		}
		alter(t, db, `UPDATE monitors SET status = 'waiting', reserved_until = now() - interval '1 second'`)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		promoted := make(chan monitor.Monitor, 1000)
		var wg sync.WaitGroup
		for i := range 8 {
			s := stores[i%2]
			wg.Go(func() {
				for {
					claimed, next, err := s.ClaimDue(ctx, term)
					if err != nil {
						t.Error(err)
						return
					}
					for _, r := range claimed {
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

// The clock of the registering gateway may be wrong, and the gateway may die before
// it promotes the monitor.
func TestTheHoldOfANewMonitorFollowsTheDatabaseClock(t *testing.T) {
	const hold = 10 * time.Second
	for name, wrong := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run("the gateway's clock is an hour "+name, func(t *testing.T) {
			s := open(t, database(t))
			m := registration(1)
			m.CreatedAt = time.Now().Add(wrong)
			m.UpdatedAt, m.ReservedUntil = m.CreatedAt, m.CreatedAt.Add(hold)
			if err := s.Insert(t.Context(), m, unlimited); err != nil {
				t.Fatal(err)
			}
			taken, next := claimDue(t, s)
			if len(taken) != 0 || (time.Until(next)-hold).Abs() > 5*time.Second {
				t.Errorf("taken %v, next in %v", taken, time.Until(next))
			}
		})
	}

	t.Run("a scheduled reservation keeps its time", func(t *testing.T) { // A10
		s := open(t, database(t))
		m := registration(1)
		m.CreatedAt = time.Now().Add(-time.Hour)
		m.Status, m.ReservedUntil = monitor.Waiting, time.Now().Add(time.Minute)
		if err := s.Insert(t.Context(), m, unlimited); err != nil {
			t.Fatal(err)
		}
		if _, next := claimDue(t, s); (time.Until(next) - time.Minute).Abs() > 5*time.Second {
			t.Errorf("next in %v", time.Until(next))
		}
	})
}

func TestReleasedMonitorsAreDueAtOnce(t *testing.T) {
	s := open(t, database(t))
	held, taken, ended := register(t, s, 1), register(t, s, 2), register(t, s, 3)
	advanced, err := s.AdvanceGeneration(t.Context(), taken.ID, taken.Generation, "here")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.End(t.Context(), ended.ID, monitor.Stopped, "", nil, noon); err != nil {
		t.Fatal(err)
	}
	all := []supervisor.Reservation{
		{ID: held.ID, Generation: held.Generation},
		{ID: taken.ID, Generation: taken.Generation}, // another gateway has a newer one
		{ID: ended.ID, Generation: ended.Generation},
		{ID: "mon-unknown", Generation: 1},
	}
	for range 2 { // it may be repeated
		if err := s.Release(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	got, next := claimDue(t, s)
	if want := (supervisor.Reservation{ID: held.ID, Generation: held.Generation + 1}); len(got) != 1 || got[0] != want {
		t.Errorf("due are %v (next %v), want %v", got, next, want)
	}
	if active, err := s.ListActive(t.Context()); err != nil || len(active) != 1 || active[0].Generation != advanced.Generation {
		t.Errorf("what was not given back: %v, %v", active, err)
	}
}

// A reservation that had a worker before was handed over by a gateway that stopped.
func TestAClaimSaysWhetherTheMonitorWasHandedOver(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	launched, err := s.AdvanceGeneration(t.Context(), m.ID, m.Generation, "here")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), []supervisor.Reservation{{ID: m.ID, Generation: launched.Generation}}); err != nil {
		t.Fatal(err)
	}
	requireDue(t, s, supervisor.Reservation{ID: m.ID, Generation: launched.Generation + 1, HandedOver: true})
}
