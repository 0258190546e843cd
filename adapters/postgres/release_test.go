package postgres_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestReleasing(t *testing.T) {
	s := open(t, database(t))
	held, taken, ended := registered(t, s, 1), registered(t, s, 2), registered(t, s, 3)
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
	got, next := due(t, s)
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
	m := registered(t, s, 1)
	launched, err := s.AdvanceGeneration(t.Context(), m.ID, m.Generation, "here")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), []supervisor.Reservation{{ID: m.ID, Generation: launched.Generation}}); err != nil {
		t.Fatal(err)
	}
	takes(t, s, supervisor.Reservation{ID: m.ID, Generation: launched.Generation + 1, HandedOver: true})
}

// The clock of the database was an hour ahead when a gateway stopped, and is set
// right: what was given back must not wait that hour.
func TestReleasingByAClockThatIsAhead(t *testing.T) {
	dsn := database(t)
	s, db := open(t, dsn), raw(t, dsn)
	held := registered(t, s, 1)
	if err := s.Release(t.Context(), []supervisor.Reservation{{ID: held.ID, Generation: held.Generation}}); err != nil {
		t.Fatal(err)
	}
	alter(t, db, `UPDATE monitors SET reserved_until = reserved_until + interval '1 hour'`)
	takes(t, s, supervisor.Reservation{ID: held.ID, Generation: held.Generation + 1})
}
