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

// EventStore reads the events of monitors and delivers them again on request.
type EventStore struct{ db *database }

// Events implements registry.EventStore.
func (s *EventStore) Events(ctx context.Context, id monitor.ID, limit, offset int) ([]registry.EventRecord, int, error) {
	page, total, err := s.events(ctx, id, limit, offset)
	return page, total, wrapError(ctx, "read the events of "+string(id), err)
}

func (s *EventStore) events(ctx context.Context, id monitor.ID, limit, offset int) ([]registry.EventRecord, int, error) {
	var found struct {
		MonitorExists bool `db:"monitor_exists"`
		Total         int  `db:"total"`
	}
	err := s.db.GetContext(ctx, &found, `
		SELECT EXISTS (SELECT FROM monitors WHERE id = $1) AS monitor_exists,
		       (SELECT count(*) FROM monitor_events WHERE monitor_id = $1) AS total`, id)
	if err != nil {
		return nil, 0, err
	}
	if !found.MonitorExists {
		return nil, 0, monitorNotFound(id)
	}
	var rows []eventRow
	err = s.db.SelectContext(ctx, &rows, `
		SELECT id, event_type, body, webhook_status, attempts, webhook_last_error, created_at, sent_at, resolved_at
		FROM monitor_events WHERE monitor_id = $1
		ORDER BY created_at DESC, seq DESC LIMIT $2 OFFSET $3`, id, limit, offset)
	if err != nil {
		return nil, 0, err
	}
	page := make([]registry.EventRecord, 0, len(rows))
	for _, r := range rows {
		rec, err := r.toRecord()
		if err != nil {
			return nil, 0, err
		}
		page = append(page, rec)
	}
	return page, found.Total, nil
}

// Redeliver implements registry.EventStore. The event goes to the end of its monitor's
// queue; in its old place it might be sent at the same time as another one
// (decision W2). A pending event keeps its place.
func (s *EventStore) Redeliver(ctx context.Context, id monitor.ID, eventID string) error {
	if _, err := uuid.Parse(eventID); err != nil {
		return eventNotFound(id, eventID)
	}
	var seqBefore sql.NullInt64 // a change shows that a try with an unknown outcome has succeeded
	return s.db.inTx(ctx, "redeliver event "+eventID, func(tx *sqlx.Tx) error {
		if _, err := lockMonitor(ctx, tx, id); err != nil {
			return err
		}
		var seq sql.NullInt64
		err := tx.GetContext(ctx, &seq, `SELECT seq FROM monitor_events WHERE id = $1 AND monitor_id = $2`, eventID, id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return eventNotFound(id, eventID)
		case err != nil:
			return err
		case seqBefore.Valid && seqBefore != seq:
			return nil
		}
		seqBefore = seq
		if _, err := tx.ExecContext(ctx, `
			UPDATE monitor_events SET
				webhook_status = 'pending', webhook_attempts = 0, webhook_last_error = NULL, sent_at = NULL,
				seq = DEFAULT, next_attempt_at = now(), leased_until = NULL, lease = NULL
			WHERE id = $1 AND webhook_status IN ('sent', 'failed')`, eventID); err != nil {
			return err
		}
		return notify(ctx, tx)
	})
}

func eventNotFound(id monitor.ID, eventID string) error {
	return monitor.Errorf(monitor.NotFound, "monitor %s has no event %.60q", id, eventID)
}
