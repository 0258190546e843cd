package postgres

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ListActive implements supervisor.Store. One that cannot be read, which nothing here
// has written, must not hide the others: it is named in the log and left out.
func (s *Store) ListActive(ctx context.Context) ([]monitor.Monitor, error) {
	var rows []monitorRow
	if err := s.db.SelectContext(ctx, &rows, selectActive); err != nil {
		return nil, explain(ctx, "read active monitors", err)
	}
	all := make([]monitor.Monitor, 0, len(rows))
	for _, r := range rows {
		m, err := r.monitor()
		if err != nil {
			s.log.Error("an active monitor cannot be read, and is not watched", "monitor_id", r.ID, "error", err.Error())
			continue
		}
		all = append(all, m)
	}
	return all, nil
}

// AdvanceGeneration implements supervisor.Store. What has just that generation at that
// place already was advanced by an attempt whose outcome was unknown, or by
// another gateway of the place: either way that generation is to be launched
// there.
func (s *Store) AdvanceGeneration(ctx context.Context, id monitor.ID, generation int, place string) (monitor.Monitor, error) {
	var after monitor.Monitor
	err := s.inTx(ctx, fmt.Sprintf("advance %s from generation %d", id, generation), func(tx *sqlx.Tx) error {
		held, err := hold(ctx, tx, id)
		if err != nil {
			return err
		}
		if held.generation == generation+1 && held.place == place {
			if err := held.is(generation + 1); err != nil {
				return err
			}
			after, err = read(ctx, tx, id)
			return err
		}
		if err := held.is(generation); err != nil {
			return err
		}
		if held.reserved {
			return fmt.Errorf("%s is a reservation again: %w", id, monitor.ErrSuperseded)
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE monitors SET generation = generation + 1, reported_at = NULL, place = $2, updated_at = now() WHERE id = $1`, id, place); err != nil {
			return err
		}
		after, err = read(ctx, tx, id)
		return err
	})
	return after, err
}

// Fail implements supervisor.Store. It is idempotent: what has its last event
// already failed by an attempt whose outcome was unknown. The generation of the
// worker that is given up is over, although nobody is launched with the next: it
// may yet wake, and must not speak after the last event.
func (s *Store) Fail(ctx context.Context, m monitor.Monitor, reason string, last event.Event) error {
	return s.announce(ctx, "give up "+string(m.ID), m, last, func(tx *sqlx.Tx, held heldMonitor) error {
		if held.status != m.Status {
			return fmt.Errorf("%s is %s, not %s any more: %w", m.ID, held.status, m.Status, monitor.ErrSuperseded)
		}
		if err := end(ctx, tx, m.ID, monitor.Failed, reason, last.At); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE monitors SET generation = generation + 1 WHERE id = $1`, m.ID)
		return err
	})
}

// AddEvent implements supervisor.Store.
func (s *Store) AddEvent(ctx context.Context, m monitor.Monitor, e event.Event) error {
	return s.announce(ctx, "tell of "+string(m.ID), m, e, func(*sqlx.Tx, heldMonitor) error { return nil })
}

// announce changes a monitor that is as it was taken for, and stores an event
// about it; when that is stored, all is done.
func (s *Store) announce(ctx context.Context, doing string, m monitor.Monitor, e event.Event, change func(*sqlx.Tx, heldMonitor) error) error {
	return s.inTx(ctx, doing, func(tx *sqlx.Tx) error {
		held, err := hold(ctx, tx, m.ID)
		if err != nil {
			return err
		}
		done, err := stored(ctx, tx, m.ID, e.ID)
		if err != nil || done {
			return err
		}
		if err := held.is(m.Generation); err != nil {
			return err
		}
		if err := change(tx, held); err != nil {
			return err
		}
		return s.enqueue(ctx, tx, held, []event.Event{e})
	})
}

// is tells whether the monitor is active with this generation as its newest:
// *monitor.Error NotFound or monitor.ErrSuperseded if not.
func (h heldMonitor) is(generation int) error {
	switch {
	case !h.status.Active():
		return monitor.Errorf(monitor.NotFound, "monitor %s is not active: its status is %s", h.id, h.status)
	case h.generation != generation:
		return fmt.Errorf("%s has generation %d, not %d: %w", h.id, h.generation, generation, monitor.ErrSuperseded)
	}
	return nil
}
