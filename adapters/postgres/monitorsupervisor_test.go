package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// advanceGeneration advances a monitor of generation 1.
func advanceGeneration(t testing.TB, s *postgres.Store, id monitor.ID, place string) monitor.Monitor {
	t.Helper()
	m, err := s.AdvanceGeneration(t.Context(), id, 1, place)
	if err != nil || m.ID != id || m.Generation != 2 || m.RuntimeID != place {
		t.Fatalf("advanced is %+v, %v", m, err)
	}
	return m
}

// requireSuperseded fails the test unless the error is monitor.ErrSuperseded.
func requireSuperseded(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, monitor.ErrSuperseded) {
		t.Errorf("the error is %v", err)
	}
}

// eventTypes returns the types of a monitor's events, oldest first.
func eventTypes(t testing.TB, s *postgres.Store, id monitor.ID) []event.Type {
	t.Helper()
	page, _, err := s.Events(t.Context(), id, 100, 0)
	check(t, err)
	var types []event.Type
	for _, rec := range slices.Backward(page) {
		types = append(types, rec.EventType)
	}
	return types
}

func TestActiveMonitorsAreListed(t *testing.T) {
	s, db := newStore(t)
	first, stopped, broken, second, later := register(t, s, 1), register(t, s, 2), register(t, s, 3), registerWith(t, s, 4), register(t, s, 5)
	stopMonitor(t, s, stopped.ID)
	reserve(t, db, later.ID, time.Hour)
	alter(t, db, `UPDATE monitors SET config = '"words"' WHERE id = $1`, broken.ID)
	all := must(s.ListActive(t.Context()))(t)
	if !slices.Equal(ids(all), []monitor.ID{first.ID, second.ID}) {
		t.Errorf("listed are %v; ended ones, reservations and what cannot be read are not active", ids(all))
	}
	if slices.ContainsFunc(all, func(m monitor.Monitor) bool { return m.Snapshot != nil }) {
		t.Errorf("the list has snapshots: %+v", all)
	}
}

func TestAGenerationIsAdvancedOnce(t *testing.T) {
	s := open(t, database(t))
	advance := func(id monitor.ID, generation int) error {
		return errorOf(s.AdvanceGeneration(t.Context(), id, generation, "here"))
	}

	t.Run("generation, runtime and updated_at are stored, the snapshot is returned", func(t *testing.T) {
		m := registerWith(t, s, 1)
		after := advanceGeneration(t, s, m.ID, "here")
		if !after.UpdatedAt.After(m.UpdatedAt) || !strings.Contains(string(after.Snapshot), "monitoring") {
			t.Errorf("it became %+v", after)
		}
		if again := advanceGeneration(t, s, m.ID, "here"); !again.UpdatedAt.Equal(after.UpdatedAt) {
			t.Error("the repetition changed something")
		}
	})

	t.Run("what another runtime has advanced, an older generation and a reservation are refused", func(t *testing.T) {
		elsewhere, older, reserved := register(t, s, 2), register(t, s, 3), register(t, s, 4)
		advanceGeneration(t, s, elsewhere.ID, "there")
		advanceGeneration(t, s, older.ID, "here")
		check(t, advance(older.ID, 2))
		check(t, s.Release(t.Context(), []supervisor.Reservation{{ID: reserved.ID, Generation: 1}}))
		for _, id := range []monitor.ID{elsewhere.ID, older.ID, reserved.ID} {
			requireSuperseded(t, advance(id, 1))
		}
	})

	t.Run("an ended or unknown monitor is refused", func(t *testing.T) {
		m := register(t, s, 5)
		advanceGeneration(t, s, m.ID, "here")
		stopMonitor(t, s, m.ID)
		requireCode(t, advance(m.ID, 1), monitor.NotFound)
		requireCode(t, advance(m.ID, 2), monitor.NotFound)
		requireCode(t, advance(registration(6).ID, 1), monitor.NotFound)
	})
}

func TestAMonitorFailsWithItsLastEvent(t *testing.T) {
	s := open(t, database(t))
	t.Run("reason and last event are stored once, and its worker's reports are refused", func(t *testing.T) { // O2
		m, last := getMonitor(t, s, registerWith(t, s, 1).ID), monitorError(event.ReasonWorkerLost)
		for range 3 {
			check(t, s.Fail(t.Context(), m, event.ReasonWorkerLost, last))
		}
		requireSuperseded(t, errorOf(s.Accept(t.Context(), m.ID, report(blackout(1)))))
		if m := getMonitor(t, s, m.ID); m.Status != monitor.Failed || m.Generation != 2 || m.Reason != event.ReasonWorkerLost || !m.EndedAt.Equal(last.At) {
			t.Errorf("it stands at %s, generation %d, %q, ended %v", m.Status, m.Generation, m.Reason, m.EndedAt)
		}
		if types := eventTypes(t, s, m.ID); !slices.Equal(types, []event.Type{event.MonitorError}) {
			t.Errorf("its events are %v", types)
		}
		if l := leaseOne(t, s); l.ID != last.ID {
			t.Errorf("leased %s", l.ID)
		}
	})

	t.Run("a monitor that has changed is refused", func(t *testing.T) {
		moved, newer, gone := register(t, s, 2), register(t, s, 3), register(t, s, 4)
		acceptReport(t, s, moved.ID, report(), monitor.Run)
		advanceGeneration(t, s, newer.ID, "here")
		stopMonitor(t, s, gone.ID)
		fail := func(m monitor.Monitor) error {
			return s.Fail(t.Context(), m, event.ReasonWorkerLost, monitorError(event.ReasonWorkerLost))
		}
		requireSuperseded(t, fail(moved))
		requireSuperseded(t, fail(newer))
		requireCode(t, fail(gone), monitor.NotFound)
		requireCode(t, fail(registration(5)), monitor.NotFound)
		for _, m := range []monitor.Monitor{moved, newer, gone} {
			if types := eventTypes(t, s, m.ID); len(types) != 0 {
				t.Errorf("its events are %v", types)
			}
		}
	})
}

func TestAnEventIsAddedOnce(t *testing.T) {
	s := open(t, database(t))
	t.Run("nothing else changes, whatever the monitor has become", func(t *testing.T) {
		m, e := register(t, s, 1), monitorError(event.ReasonWorkerLost)
		add := func() { t.Helper(); check(t, s.AddEvent(t.Context(), m, e)) }
		add()
		add()
		if after := getMonitor(t, s, m.ID); after.Status != m.Status || after.Generation != m.Generation || !after.UpdatedAt.Equal(m.UpdatedAt) {
			t.Errorf("it became %+v", after)
		}
		advanceGeneration(t, s, m.ID, "here")
		add()
		stopMonitor(t, s, m.ID)
		add()
		if types := eventTypes(t, s, m.ID); !slices.Equal(types, []event.Type{event.MonitorError}) {
			t.Errorf("its events are %v", types)
		}
	})

	t.Run("a newer generation, an ended and an unknown monitor are refused", func(t *testing.T) {
		newer, gone := register(t, s, 2), register(t, s, 3)
		advanceGeneration(t, s, newer.ID, "here")
		stopMonitor(t, s, gone.ID)
		requireSuperseded(t, s.AddEvent(t.Context(), newer, monitorError(event.ReasonWorkerLost)))
		requireCode(t, s.AddEvent(t.Context(), gone, monitorError(event.ReasonWorkerLost)), monitor.NotFound)
		requireCode(t, s.AddEvent(t.Context(), registration(4), monitorError(event.ReasonWorkerLost)), monitor.NotFound)
	})
}

// Two gateways have read the same state of a monitor and act at the same time, each several times.
func TestOneOfSeveralConcurrentGatewaysSucceeds(t *testing.T) {
	gateways, _ := newGateways(t)
	race := func(m monitor.Monitor, act func(gateway int) error) {
		t.Helper()
		var wins [2]atomic.Int64
		var wg sync.WaitGroup
		for hand := range 6 {
			wg.Go(func() {
				err := act(hand % 2)
				if refused := new(monitor.Error); err == nil {
					wins[hand%2].Add(1)
				} else if !errors.Is(err, monitor.ErrSuperseded) && !errors.As(err, &refused) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if (wins[0].Load() > 0) == (wins[1].Load() > 0) {
			t.Errorf("%s: the gateways succeeded %d and %d times", m.ID, wins[0].Load(), wins[1].Load())
		}
	}
	for n := range 12 {
		m := register(t, gateways[0], n)
		race(m, func(gateway int) error {
			return errorOf(gateways[gateway].AdvanceGeneration(t.Context(), m.ID, m.Generation, fmt.Sprint("runtime ", gateway)))
		})
		m = getMonitor(t, gateways[0], m.ID)
		last := [2]event.Event{monitorError(event.ReasonWorkerLost), monitorError(event.ReasonWorkerLost)}
		race(m, func(gateway int) error {
			return gateways[gateway].Fail(t.Context(), m, event.ReasonWorkerLost, last[gateway])
		})
		if types := eventTypes(t, gateways[0], m.ID); m.Generation != 2 || len(types) != 1 {
			t.Errorf("%s has generation %d, its events are %v", m.ID, m.Generation, types)
		}
	}
}
