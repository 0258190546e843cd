package postgres_test

import (
	"database/sql"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAReservationIsPromotedOnce(t *testing.T) { // A10
	claimed := func(t *testing.T) (*postgres.Store, *sql.DB, supervisor.Reservation) {
		t.Helper()
		s, db, m := newReservation(t, -time.Second)
		r := supervisor.Reservation{ID: m.ID, Generation: 2}
		requireDue(t, s, r)
		return s, db, r
	}
	promoted := func(t *testing.T, s *postgres.Store, r supervisor.Reservation) {
		t.Helper()
		m, err := s.Promote(t.Context(), r, "here")
		if err != nil || m.ID != r.ID || m.Generation != r.Generation || m.Status != monitor.Waiting {
			t.Fatalf("promoted is %+v, %v", m, err)
		}
	}

	t.Run("a reservation is not resumed until it is promoted", func(t *testing.T) {
		s, _, m := newReservation(t, -time.Second)
		resumed := func(want ...monitor.ID) {
			t.Helper()
			all, err := s.ListActive(t.Context())
			if err != nil || !slices.Equal(ids(all), want) {
				t.Errorf("active are %v, %v", ids(all), err)
			}
		}
		resumed()
		requireDue(t, s, supervisor.Reservation{ID: m.ID, Generation: 2})
		resumed()
		promoted(t, s, supervisor.Reservation{ID: m.ID, Generation: 2})
		resumed(m.ID)
	})

	t.Run("it is never due again", func(t *testing.T) {
		s, _, r := claimed(t)
		promoted(t, s, r)
		if claimed, next := claimDue(t, s); len(claimed) != 0 || !next.IsZero() {
			t.Errorf("claimed %v, next %v", claimed, next)
		}
	})

	t.Run("it may be repeated", func(t *testing.T) {
		s, _, r := claimed(t)
		promoted(t, s, r)
		promoted(t, s, r)
	})

	t.Run("an ended one is not promoted", func(t *testing.T) {
		s, _, r := claimed(t)
		if _, err := s.End(t.Context(), r.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		_, err := s.Promote(t.Context(), r, "here")
		requireCode(t, err, monitor.NotFound)
	})

	t.Run("one that another gateway has claimed since is not promoted", func(t *testing.T) {
		s, db, r := claimed(t)
		alter(t, db, `UPDATE monitors SET reserved_until = now() - interval '1 second'`)
		next := supervisor.Reservation{ID: r.ID, Generation: 3}
		requireDue(t, s, next)
		if _, err := s.Promote(t.Context(), r, "here"); !errors.Is(err, monitor.ErrSuperseded) {
			t.Errorf("the error is %v", err)
		}
		promoted(t, s, next)
	})

	t.Run("an unknown one is not found", func(t *testing.T) {
		s := open(t, database(t))
		_, err := s.Promote(t.Context(), supervisor.Reservation{ID: registration(1).ID, Generation: 1}, "here")
		requireCode(t, err, monitor.NotFound)
	})

	t.Run("a reservation counts against the maximum and the duplicate rule", func(t *testing.T) {
		s, _, _ := newReservation(t, time.Hour)
		requireCode(t, s.Insert(t.Context(), registration(1), unlimited), monitor.Duplicate)
		requireCode(t, s.Insert(t.Context(), registration(2), 1), monitor.MaxMonitorsExceeded)
	})
}

// The hold of a new monitor ends just when its own gateway promotes it.
func TestANewMonitorIsPromotedByOneGateway(t *testing.T) {
	const monitors = 30
	dsn := database(t)
	own, other, db := open(t, dsn), open(t, dsn), raw(t, dsn)
	for n := range monitors {
		m := register(t, own, n)
		alter(t, db, `UPDATE monitors SET reserved_until = now() WHERE id = $1`, m.ID)
		var promoted [2]error
		found := false
		var wg sync.WaitGroup
		wg.Go(func() {
			_, promoted[0] = own.Promote(t.Context(), supervisor.Reservation{ID: m.ID, Generation: 1}, "here")
		})
		wg.Go(func() {
			all, _, err := other.ClaimDue(t.Context(), term)
			if promoted[1] = err; err == nil && len(all) == 1 {
				found = true
				_, promoted[1] = other.Promote(t.Context(), all[0], "there")
			}
		})
		wg.Wait()
		if promoted[1] != nil {
			t.Fatal(promoted[1])
		}
		if first := promoted[0] == nil; first == found || !first && !errors.Is(promoted[0], monitor.ErrSuperseded) {
			t.Errorf("its own gateway got %v, another took it: %v", promoted[0], found)
		}
	}
}
