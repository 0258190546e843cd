package postgres

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// WorkerStore stores which monitors need a worker, and of which generation.
type WorkerStore struct{ db *database }

// ListActive implements supervisor.Store. A row that this program cannot have written
// and cannot read is logged and left out, so that the other monitors are watched.
func (s *WorkerStore) ListActive(ctx context.Context) ([]monitor.Monitor, error) {
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

// AdvanceGeneration implements supervisor.Store. A monitor that already has the next
// generation in the same runtime is returned unchanged. It was
// advanced by an earlier call whose outcome was unknown, or by another gateway of
// that runtime.
func (s *WorkerStore) AdvanceGeneration(ctx context.Context, id monitor.ID, generation int, runtimeID string) (monitor.Monitor, error) {
	var after monitor.Monitor
	err := s.db.inTx(ctx, fmt.Sprintf("advance %s from generation %d", id, generation), func(tx *sqlx.Tx) error {
		locked, err := lockMonitor(ctx, tx, id)
		if err != nil {
			return err
		}
		if locked.generation == generation+1 && locked.runtimeID == runtimeID {
			if err := locked.requireGeneration(generation + 1); err != nil {
				return err
			}
			after, err = readMonitor(ctx, tx, id)
			return err
		}
		if err := locked.requireGeneration(generation); err != nil {
			return err
		}
		if locked.reserved {
			return fmt.Errorf("%s is a reservation again: %w", id, monitor.ErrSuperseded)
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE monitors SET generation = generation + 1, reported_at = NULL, place = $2, updated_at = now() WHERE id = $1`, id, runtimeID); err != nil {
			return err
		}
		after, err = readMonitor(ctx, tx, id)
		return err
	})
	return after, err
}

// Fail implements supervisor.Store. It is idempotent: a monitor that has the last
// event has failed already. It advances the generation without a launch, so that
// a worker that was only halted cannot report after the last event.
func (s *WorkerStore) Fail(ctx context.Context, m monitor.Monitor, reason string, last event.Event) error {
	return s.changeWithEvent(ctx, "fail "+string(m.ID), m, last, func(tx *sqlx.Tx, locked lockedMonitor) error {
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
func (s *WorkerStore) AddEvent(ctx context.Context, m monitor.Monitor, e event.Event) error {
	return s.changeWithEvent(ctx, "add an event to "+string(m.ID), m, e, func(*sqlx.Tx, lockedMonitor) error { return nil })
}

// changeWithEvent changes a monitor whose newest generation is that of m, and stores
// an event about it. If the event is stored already, it does nothing.
func (s *WorkerStore) changeWithEvent(ctx context.Context, operation string, m monitor.Monitor, e event.Event, change func(*sqlx.Tx, lockedMonitor) error) error {
	return s.db.inTx(ctx, operation, func(tx *sqlx.Tx) error {
		locked, err := lockMonitor(ctx, tx, m.ID)
		if err != nil {
			return err
		}
		done, err := hasEvent(ctx, tx, m.ID, e.ID)
		if err != nil || done {
			return err
		}
		if err := locked.requireGeneration(m.Generation); err != nil {
			return err
		}
		if err := change(tx, locked); err != nil {
			return err
		}
		return s.db.enqueue(ctx, tx, locked, []event.Event{e})
	})
}
