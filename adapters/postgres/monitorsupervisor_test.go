package postgres_test

import (
	"errors"
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

// stopMonitor stops a monitor.
func stopMonitor(t testing.TB, s *postgres.Store, id monitor.ID) {
	t.Helper()
	if _, err := s.End(t.Context(), id, monitor.Stopped, "", nil, noon); err != nil {
		t.Fatal(err)
	}
}

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
	if err != nil {
		t.Fatal(err)
	}
	var types []event.Type
	for _, rec := range slices.Backward(page) {
		types = append(types, rec.EventType)
	}
	return types
}

func TestActiveMonitorsAreListed(t *testing.T) {
	t.Run("active monitors are listed, ended ones and reservations are not", func(t *testing.T) {
		dsn := database(t)
		s, db := open(t, dsn), raw(t, dsn)
		first, stopped, second, later := register(t, s, 1), register(t, s, 2), register(t, s, 3), register(t, s, 4)
		acceptReport(t, s, second.ID, report(), monitor.Run)
		stopMonitor(t, s, stopped.ID)
		reserve(t, db, later.ID, time.Hour)
		all, err := s.ListActive(t.Context())
		if err != nil || !slices.Equal(ids(all), []monitor.ID{first.ID, second.ID}) {
			t.Errorf("%v, %v", ids(all), err)
		}
	})

	t.Run("an unreadable one does not hide the others", func(t *testing.T) {
		dsn := database(t)
		s, db := open(t, dsn), raw(t, dsn)
		broken, whole := register(t, s, 1), register(t, s, 2)
		alter(t, db, `UPDATE monitors SET config = '"words"' WHERE id = $1`, broken.ID)
		all, err := s.ListActive(t.Context())
		if err != nil || !slices.Equal(ids(all), []monitor.ID{whole.ID}) {
			t.Errorf("%v, %v", ids(all), err)
		}
	})

	t.Run("without their snapshots", func(t *testing.T) {
		dsn := database(t)
		s, db := open(t, dsn), raw(t, dsn)
		m := register(t, s, 1)
		alter(t, db, `UPDATE monitors SET snapshot = '{"version": 1}' WHERE id = $1`, m.ID)
		all, err := s.ListActive(t.Context())
		if err != nil || len(all) != 1 || all[0].Snapshot != nil {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestAGenerationIsAdvancedOnce(t *testing.T) {
	t.Run("generation, runtime and updated_at are stored", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		after := advanceGeneration(t, s, m.ID, "here")
		if !after.UpdatedAt.After(m.UpdatedAt) {
			t.Errorf("updated at %v, then %v", m.UpdatedAt, after.UpdatedAt)
		}
	})

	t.Run("the snapshot is returned", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		if after := advanceGeneration(t, s, m.ID, "here"); !strings.Contains(string(after.Snapshot), "monitoring") {
			t.Errorf("the snapshot is %s", after.Snapshot)
		}
	})

	t.Run("it may be repeated", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		first := advanceGeneration(t, s, m.ID, "here")
		if again := advanceGeneration(t, s, m.ID, "here"); !again.UpdatedAt.Equal(first.UpdatedAt) {
			t.Error("the repetition changed something")
		}
	})

	t.Run("a monitor that another runtime has advanced is refused", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		advanceGeneration(t, s, m.ID, "there")
		_, err := s.AdvanceGeneration(t.Context(), m.ID, 1, "here")
		requireSuperseded(t, err)
	})

	t.Run("an older generation is refused", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		advanceGeneration(t, s, m.ID, "here")
		if _, err := s.AdvanceGeneration(t.Context(), m.ID, 2, "here"); err != nil {
			t.Fatal(err)
		}
		_, err := s.AdvanceGeneration(t.Context(), m.ID, 1, "here")
		requireSuperseded(t, err)
	})

	t.Run("a reservation is refused", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		if err := s.Release(t.Context(), []supervisor.Reservation{{ID: m.ID, Generation: 1}}); err != nil {
			t.Fatal(err)
		}
		_, err := s.AdvanceGeneration(t.Context(), m.ID, 1, "here")
		requireSuperseded(t, err)
	})

	t.Run("an ended or unknown monitor is refused", func(t *testing.T) {
		s := open(t, database(t))
		m := register(t, s, 1)
		advanceGeneration(t, s, m.ID, "here")
		stopMonitor(t, s, m.ID)
		for generation := 1; generation <= 2; generation++ {
			_, err := s.AdvanceGeneration(t.Context(), m.ID, generation, "here")
			requireCode(t, err, monitor.NotFound)
		}
		_, err := s.AdvanceGeneration(t.Context(), registration(2).ID, 1, "here")
		requireCode(t, err, monitor.NotFound)
	})
}

func TestAMonitorFailsWithItsLastEvent(t *testing.T) {
	t.Run("reason and last event are stored once", func(t *testing.T) {
		s := open(t, database(t))
		m, last := register(t, s, 1), monitorError(event.ReasonWorkerLost)
		for range 3 {
			if err := s.Fail(t.Context(), m, event.ReasonWorkerLost, last); err != nil {
				t.Fatal(err)
			}
		}
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

	t.Run("its worker's reports are refused", func(t *testing.T) { // O2
		s := open(t, database(t))
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(), monitor.Run)
		m = getMonitor(t, s, m.ID)
		if err := s.Fail(t.Context(), m, event.ReasonWorkerLost, monitorError(event.ReasonWorkerLost)); err != nil {
			t.Fatal(err)
		}
		_, err := s.Accept(t.Context(), m.ID, report(blackout(1)))
		requireSuperseded(t, err)
		if types := eventTypes(t, s, m.ID); !slices.Equal(types, []event.Type{event.MonitorError}) {
			t.Errorf("its events are %v", types)
		}
	})

	t.Run("a monitor that has changed is refused", func(t *testing.T) {
		s := open(t, database(t))
		moved, newer, gone := register(t, s, 1), register(t, s, 2), register(t, s, 3)
		acceptReport(t, s, moved.ID, report(), monitor.Run)
		advanceGeneration(t, s, newer.ID, "here")
		stopMonitor(t, s, gone.ID)
		requireSuperseded(t, s.Fail(t.Context(), moved, event.ReasonWorkerLost, monitorError(event.ReasonWorkerLost)))
		requireSuperseded(t, s.Fail(t.Context(), newer, event.ReasonWorkerLost, monitorError(event.ReasonWorkerLost)))
		requireCode(t, s.Fail(t.Context(), gone, event.ReasonWorkerLost, monitorError(event.ReasonWorkerLost)), monitor.NotFound)
		requireCode(t, s.Fail(t.Context(), registration(4), event.ReasonWorkerLost, monitorError(event.ReasonWorkerLost)), monitor.NotFound)
		for _, m := range []monitor.Monitor{moved, newer, gone} {
			if types := eventTypes(t, s, m.ID); len(types) != 0 {
				t.Errorf("its events are %v", types)
			}
		}
	})
}

func TestAnEventIsAddedOnce(t *testing.T) {
	t.Run("nothing else changes", func(t *testing.T) {
		s := open(t, database(t))
		m, e := register(t, s, 1), monitorError(event.ReasonWorkerLost)
		for range 3 {
			if err := s.AddEvent(t.Context(), m, e); err != nil {
				t.Fatal(err)
			}
		}
		if after := getMonitor(t, s, m.ID); after.Status != m.Status || after.Generation != m.Generation || !after.UpdatedAt.Equal(m.UpdatedAt) {
			t.Errorf("it became %+v", after)
		}
		if types := eventTypes(t, s, m.ID); !slices.Equal(types, []event.Type{event.MonitorError}) {
			t.Errorf("its events are %v", types)
		}
	})

	t.Run("also if the monitor has changed since", func(t *testing.T) {
		s := open(t, database(t))
		m, e := register(t, s, 1), monitorError(event.ReasonWorkerLost)
		if err := s.AddEvent(t.Context(), m, e); err != nil {
			t.Fatal(err)
		}
		advanceGeneration(t, s, m.ID, "here")
		if err := s.AddEvent(t.Context(), m, e); err != nil {
			t.Error(err)
		}
		stopMonitor(t, s, m.ID)
		if err := s.AddEvent(t.Context(), m, e); err != nil {
			t.Error(err)
		}
	})

	t.Run("a newer generation, an ended and an unknown monitor are refused", func(t *testing.T) {
		s := open(t, database(t))
		newer, gone := register(t, s, 1), register(t, s, 2)
		advanceGeneration(t, s, newer.ID, "here")
		stopMonitor(t, s, gone.ID)
		requireSuperseded(t, s.AddEvent(t.Context(), newer, monitorError(event.ReasonWorkerLost)))
		requireCode(t, s.AddEvent(t.Context(), gone, monitorError(event.ReasonWorkerLost)), monitor.NotFound)
		requireCode(t, s.AddEvent(t.Context(), registration(3), monitorError(event.ReasonWorkerLost)), monitor.NotFound)
	})
}

// Several gateways have read the same state of a monitor and act at the same time.
func TestOneOfSeveralConcurrentGatewaysSucceeds(t *testing.T) {
	const monitors, hands = 12, 3
	dsn := database(t)
	gateways := []*postgres.Store{open(t, dsn), open(t, dsn)}
	var seen []monitor.Monitor
	for n := range monitors {
		seen = append(seen, register(t, gateways[0], n))
	}
	race := func(t *testing.T, act func(gateway int, s *postgres.Store, m monitor.Monitor) error) {
		t.Helper()
		for _, m := range seen {
			var wins [2]atomic.Int64
			var wg sync.WaitGroup
			for hand := range 2 * hands {
				wg.Go(func() {
					err := act(hand%2, gateways[hand%2], m)
					switch seen := new(monitor.Error); {
					case err == nil:
						wins[hand%2].Add(1)
					case !errors.Is(err, monitor.ErrSuperseded) && !errors.As(err, &seen):
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if (wins[0].Load() > 0) == (wins[1].Load() > 0) {
				t.Errorf("%s: the gateways succeeded %d and %d times", m.ID, wins[0].Load(), wins[1].Load())
			}
		}
	}

	t.Run("when they advance a generation", func(t *testing.T) {
		race(t, func(gateway int, s *postgres.Store, m monitor.Monitor) error {
			_, err := s.AdvanceGeneration(t.Context(), m.ID, m.Generation, []string{"here", "there"}[gateway])
			return err
		})
		for _, m := range seen {
			if after := getMonitor(t, gateways[0], m.ID); after.Generation != 2 {
				t.Errorf("%s has generation %d", m.ID, after.Generation)
			}
		}
	})

	t.Run("when they fail a monitor", func(t *testing.T) {
		last := map[monitor.ID][2]event.Event{}
		for i := range seen {
			seen[i] = getMonitor(t, gateways[0], seen[i].ID)
			last[seen[i].ID] = [2]event.Event{monitorError(event.ReasonWorkerLost), monitorError(event.ReasonWorkerLost)}
		}
		race(t, func(gateway int, s *postgres.Store, m monitor.Monitor) error {
			return s.Fail(t.Context(), m, event.ReasonWorkerLost, last[m.ID][gateway])
		})
		for _, m := range seen {
			if types := eventTypes(t, gateways[0], m.ID); len(types) != 1 {
				t.Errorf("%s: its events are %v", m.ID, types)
			}
		}
	})
}
