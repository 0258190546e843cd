package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Events implements control.History.
func (s *Store) Events(ctx context.Context, id monitor.ID, limit, offset int) ([]registry.Record, int, error) {
	page, total, err := s.events(ctx, id, limit, offset)
	return page, total, explain(ctx, "read the events of "+string(id), err)
}

func (s *Store) events(ctx context.Context, id monitor.ID, limit, offset int) ([]registry.Record, int, error) {
	var count struct {
		Known bool `db:"known"`
		Total int  `db:"total"`
	}
	err := s.db.GetContext(ctx, &count, `
		SELECT EXISTS (SELECT FROM monitors WHERE id = $1) AS known,
		       (SELECT count(*) FROM monitor_events WHERE monitor_id = $1) AS total`, id)
	if err != nil {
		return nil, 0, err
	}
	if !count.Known {
		return nil, 0, unknown(id)
	}
	var rows []eventRow
	err = s.db.SelectContext(ctx, &rows, `
		SELECT id, event_type, body, webhook_status, attempts, webhook_last_error, created_at, sent_at
		FROM monitor_events WHERE monitor_id = $1
		ORDER BY created_at DESC, seq DESC LIMIT $2 OFFSET $3`, id, limit, offset)
	if err != nil {
		return nil, 0, err
	}
	page := make([]registry.Record, 0, len(rows))
	for _, r := range rows {
		rec, err := r.record()
		if err != nil {
			return nil, 0, err
		}
		page = append(page, rec)
	}
	return page, count.Total, nil
}

// Redeliver implements control.History. The event goes to the end of its
// monitor's queue: in its old place it could be sent beside the one that is
// being sent now (decision W2). One that is pending already stays as it is.
func (s *Store) Redeliver(ctx context.Context, id monitor.ID, eventID string) error {
	if _, err := uuid.Parse(eventID); err != nil {
		return noEvent(id, eventID)
	}
	var was sql.NullInt64 // its place when first seen: when that changes, an attempt whose outcome was unknown has done it
	return s.inTx(ctx, "redeliver event "+eventID, func(tx *sqlx.Tx) error {
		if _, err := hold(ctx, tx, id); err != nil {
			return err
		}
		var is sql.NullInt64
		err := tx.GetContext(ctx, &is, `SELECT seq FROM monitor_events WHERE id = $1 AND monitor_id = $2`, eventID, id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return noEvent(id, eventID)
		case err != nil:
			return err
		case was.Valid && was != is:
			return nil
		}
		was = is
		if _, err := tx.ExecContext(ctx, `
			UPDATE monitor_events SET
				webhook_status = 'pending', webhook_attempts = 0, webhook_last_error = NULL, sent_at = NULL,
				seq = DEFAULT, next_attempt_at = now(), leased_until = NULL, lease = NULL
			WHERE id = $1 AND webhook_status IN ('sent', 'failed')`, eventID); err != nil {
			return err
		}
		return wake(ctx, tx)
	})
}

func noEvent(id monitor.ID, eventID string) error {
	return monitor.Errorf(monitor.NotFound, "monitor %s has no event %.60q", id, eventID)
}
