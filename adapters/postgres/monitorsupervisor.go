package postgres

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// SupervisorStore reads the monitors that need a worker, advances their generations, fails
// them and adds events.
type SupervisorStore struct{ db *database }

// ListActive implements supervisor.Store. It logs and leaves out a row that it cannot
// read, so that the other monitors are watched. Such a row was changed by hand.
func (s *SupervisorStore) ListActive(ctx context.Context) ([]monitor.Monitor, error) {
	var rows []monitorRow
	if err := s.db.SelectContext(ctx, &rows, selectActive); err != nil {
		return nil, wrapError(ctx, "read active monitors", err)
	}
	all := make([]monitor.Monitor, 0, len(rows))
	for _, r := range rows {
		m, err := r.toMonitor()
		if err != nil {
			s.db.log.Error("an active monitor cannot be read, and is not watched", "monitor_id", r.ID, "error", err.Error())
			continue
		}
		all = append(all, m)
	}
	return all, nil
}

// AdvanceGeneration implements supervisor.Store. It returns the monitor unchanged if it
// already has the next generation in the same runtime. Then an earlier call with an
// unknown outcome has advanced it, or another gateway that shares the runtime.
func (s *SupervisorStore) AdvanceGeneration(ctx context.Context, id monitor.ID, generation int, runtimeID string) (monitor.Monitor, error) {
	var advanced monitor.Monitor
	err := s.db.inTx(ctx, fmt.Sprintf("advance %s from generation %d", id, generation), func(tx *sqlx.Tx) error {
		locked, err := lockMonitor(ctx, tx, id)
		if err != nil {
			return err
		}
		if locked.generation == generation+1 && locked.runtimeID == runtimeID {
			if err := locked.requireGeneration(generation + 1); err != nil {
				return err
			}
			advanced, err = s.db.readMonitor(ctx, tx, id)
			return err
		}
		if err := locked.requireGeneration(generation); err != nil {
			return err
		}
		if locked.reserved {
			return fmt.Errorf("a gateway has released %s, so it is a reservation again: %w", id, monitor.ErrSuperseded)
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE monitors SET generation = generation + 1, seen_at = COALESCE(reported_at, seen_at), reported_at = NULL, place = $2, updated_at = now() WHERE id = $1`, id, runtimeID); err != nil {
			return err
		}
		advanced, err = s.db.readMonitor(ctx, tx, id)
		return err
	})
	return advanced, err
}

// Fail implements supervisor.Store. It does nothing if the last event is stored already,
// because the monitor has failed then. It advances the generation although no worker is
// launched. So a worker that was suspended and goes on cannot report any more.
func (s *SupervisorStore) Fail(ctx context.Context, m monitor.Monitor, reason string, last event.Event) error {
	return s.addEventOnce(ctx, "fail "+string(m.ID), m, last, func(tx *sqlx.Tx, locked lockedMonitor) error {
		if locked.status != m.Status {
			return fmt.Errorf("%s is %s, not %s any more: %w", m.ID, locked.status, m.Status, monitor.ErrSuperseded)
		}
		if err := endMonitor(ctx, tx, m.ID, monitor.Failed, reason, last.At); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE monitors SET generation = generation + 1 WHERE id = $1`, m.ID)
		return err
	})
}

// AddEvent implements supervisor.Store.
func (s *SupervisorStore) AddEvent(ctx context.Context, m monitor.Monitor, e event.Event) error {
	return s.addEventOnce(ctx, "add an event to "+string(m.ID), m, e, nil)
}

// addEventOnce changes a monitor and stores an event about it, unless the event is stored
// already. A nil change changes nothing. The monitor's newest generation must be that of m.
func (s *SupervisorStore) addEventOnce(ctx context.Context, operation string, m monitor.Monitor, e event.Event, change func(*sqlx.Tx, lockedMonitor) error) error {
	return s.db.inTx(ctx, operation, func(tx *sqlx.Tx) error {
		locked, err := lockMonitor(ctx, tx, m.ID)
		if err != nil {
			return err
		}
		stored, err := hasEvent(ctx, tx, m.ID, e.ID)
		if err != nil || stored {
			return err
		}
		if err := locked.requireGeneration(m.Generation); err != nil {
			return err
		}
		if change != nil {
			if err := change(tx, locked); err != nil {
				return err
			}
		}
		return s.db.recordOrPark(ctx, tx, found{monitor: locked, events: []event.Event{e}, changed: change != nil})
	})
}
