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
	promote := func(t *testing.T, s *postgres.Store, r supervisor.Reservation) {
		t.Helper()
		m, err := s.Promote(t.Context(), r, "here")
		if err != nil || m.ID != r.ID || m.Generation != r.Generation || m.Status != monitor.Waiting {
			t.Fatalf("promoted is %+v, %v", m, err)
		}
	}

	t.Run("it is resumed when it is promoted, and never due again", func(t *testing.T) {
		s, _, r := claimed(t)
		if all := must(s.ListActive(t.Context()))(t); len(all) != 0 {
			t.Errorf("before it is promoted active are %v", ids(all))
		}
		for range 2 { // it may be repeated
			promote(t, s, r)
		}
		if all := must(s.ListActive(t.Context()))(t); !slices.Equal(ids(all), []monitor.ID{r.ID}) {
			t.Errorf("active are %v", ids(all))
		}
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
