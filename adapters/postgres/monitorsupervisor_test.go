package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func advanceGeneration(t testing.TB, s *postgres.Store, id monitor.ID, place string) monitor.Monitor {
	t.Helper()
	m, err := s.AdvanceGeneration(t.Context(), id, 1, place)
	if err != nil || m.ID != id || m.Generation != 2 || m.RuntimeID != place {
		t.Fatalf("advanced is %+v, %v", m, err)
	}
	return m
}

func requireSuperseded(t testing.TB, err error) {
	t.Helper()
	expectError(t, "a decision about an older state", err, monitor.ErrSuperseded)
}

// eventsOf returns a monitor's events, oldest first.
func eventsOf(t testing.TB, s *postgres.Store, id monitor.ID) []monitors.EventRecord {
	t.Helper()
	page, _, err := s.Events(t.Context(), id, 100, 0)
	check(t, err)
	slices.Reverse(page)
	return page
}

func eventTypes(t testing.TB, s *postgres.Store, id monitor.ID) (types []event.Type) {
	t.Helper()
	for _, rec := range eventsOf(t, s, id) {
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
	expect(t, "active monitors, without reservations and what cannot be read", ids(all), []monitor.ID{first.ID, second.ID})
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
}

// What a gateway has decided about an older generation, or about a monitor that has ended, is refused.
func TestADecisionAboutAnOlderStateIsRefused(t *testing.T) {
	s := open(t, database(t))
	last := monitorError(event.ReasonWorkerLost)
	newer, ended := register(t, s, 1), register(t, s, 2)
	advanceGeneration(t, s, newer.ID, "there")
	advanceGeneration(t, s, ended.ID, "here")
	stopMonitor(t, s, ended.ID)
	for name, act := range map[string]func(m monitor.Monitor) error{
		"an advance": func(m monitor.Monitor) error { return errorOf(s.AdvanceGeneration(t.Context(), m.ID, 1, "here")) },
		"a failure":  func(m monitor.Monitor) error { return s.Fail(t.Context(), m, event.ReasonWorkerLost, last) },
		"an event":   func(m monitor.Monitor) error { return s.AddEvent(t.Context(), m, last) },
	} {
		expectError(t, name, act(newer), monitor.ErrSuperseded)
		requireCode(t, act(ended), monitor.NotFound)
		requireCode(t, act(registration(3)), monitor.NotFound)
	}
	for _, m := range []monitor.Monitor{newer, ended} {
		expectLen(t, "its events", eventTypes(t, s, m.ID), 0)
	}
}

func TestAMonitorFailsWithItsLastEvent(t *testing.T) {
	s := open(t, database(t))
	t.Run("reason and last event are stored once, and its worker's reports are refused", func(t *testing.T) { // O2
		m, last := getMonitor(t, s, registerWith(t, s, 1).ID), monitorError(event.ReasonWorkerLost)
		for range 3 {
			check(t, s.Fail(t.Context(), m, event.ReasonWorkerLost, last))
		}
		requireSuperseded(t, errorOf(s.Accept(t.Context(), m.ID, report(blackout(1)))))
		expectEnd(t, s, m.ID, monitor.Failed, event.ReasonWorkerLost)
		expect(t, "the generation", getMonitor(t, s, m.ID).Generation, 2)
		expect(t, "its events", eventTypes(t, s, m.ID), []event.Type{event.MonitorError})
		expect(t, "the leased delivery", leaseOne(t, s).ID, last.ID)
	})

	t.Run("a monitor that has reported since is refused", func(t *testing.T) {
		m := registerWith(t, s, 2) // as it was before the report
		requireSuperseded(t, s.Fail(t.Context(), m, event.ReasonWorkerLost, monitorError(event.ReasonWorkerLost)))
		expectLen(t, "its events", eventTypes(t, s, m.ID), 0)
	})
}

// Nothing else changes, whatever the monitor has become.
func TestAnEventIsAddedOnce(t *testing.T) {
	s := open(t, database(t))
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
	expect(t, "its events", eventTypes(t, s, m.ID), []event.Type{event.MonitorError})
}

// Two gateways have read the same state of a monitor and act at the same time, each several times.
func TestOneOfSeveralConcurrentGatewaysSucceeds(t *testing.T) {
	gateways, db := newGateways(t)
	race := func(m monitor.Monitor, act func(gateway int) error) {
		t.Helper()
		var wins [2]atomic.Int64
		atOnce(t, 6, func(hand int) error {
			err := act(hand % 2)
			if refused := new(monitor.Error); errors.Is(err, monitor.ErrSuperseded) || errors.As(err, &refused) {
				return nil
			}
			wins[hand%2].Add(1)
			return err
		})
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
		require(t, "the generation", m.Generation, 2)
		last := [2]event.Event{monitorError(event.ReasonWorkerLost), monitorError(event.ReasonWorkerLost)}
		race(m, func(gateway int) error {
			return gateways[gateway].Fail(t.Context(), m, event.ReasonWorkerLost, last[gateway])
		})
		expectLen(t, "its events", eventTypes(t, gateways[0], m.ID), 1)

		// The hold of a new monitor ends just when its own gateway promotes it.
		held := register(t, gateways[0], 100+n)
		alter(t, db, `UPDATE monitors SET reserved_until = now() WHERE id = $1`, held.ID)
		race(held, func(gateway int) error {
			r := supervisor.Reservation{ID: held.ID, Generation: 1}
			if gateway == 1 {
				claimed, _, err := gateways[1].ClaimDue(t.Context(), term)
				if err != nil {
					return err
				}
				if len(claimed) == 0 {
					return monitor.ErrSuperseded
				}
				r = claimed[0]
			}
			return errorOf(gateways[gateway].Promote(t.Context(), r, fmt.Sprint("runtime ", gateway)))
		})
	}
}
