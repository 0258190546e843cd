package postgres

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Active implements supervise.Roster.
func (s *Store) Active(ctx context.Context) ([]monitor.Monitor, error) {
	var rows []monitorRow
	if err := s.db.SelectContext(ctx, &rows, selectMonitor+` WHERE m.`+active+` AND m.reserved_until IS NULL ORDER BY m.seq`); err != nil {
		return nil, explain(ctx, "read active monitors", err)
	}
	all, err := monitors(rows)
	return all, explain(ctx, "read active monitors", err)
}

// Advance implements supervise.Roster. Repeated after an error it may skip a
// generation, which harms nobody.
func (s *Store) Advance(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	var after monitor.Monitor
	err := s.inTx(ctx, fmt.Sprintf("advance %s to its next generation", id), func(tx *sqlx.Tx) error {
		held, err := hold(ctx, tx, id)
		if err != nil {
			return err
		}
		if !held.status.Active() {
			return inactive(held)
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE monitors SET generation = generation + 1, updated_at = now() WHERE id = $1`, id); err != nil {
			return err
		}
		after, err = read(ctx, tx, id)
		return err
	})
	return after, err
}

func inactive(held heldMonitor) error {
	return monitor.Errorf(monitor.NotFound, "monitor %s is not active: its status is %s", held.id, held.status)
}
