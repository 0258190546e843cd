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

// events finds by the index alone where the page begins.
func (s *EventStore) events(ctx context.Context, id monitor.ID, limit, offset int) ([]registry.EventRecord, int, error) {
	begins, args := ``, []any{id, limit}
	if offset > 0 {
		begins = ` AND (created_at, seq) <= (SELECT created_at, seq FROM monitor_events WHERE monitor_id = $1 ORDER BY created_at DESC, seq DESC LIMIT 1 OFFSET $3)`
		args = append(args, offset)
	}
	var rows []eventRow
	err := s.db.SelectContext(ctx, &rows, `
		SELECT id, event_type, body, webhook_status, attempts, webhook_last_error, created_at, sent_at, resolved_at, long_schedule
		FROM monitor_events WHERE monitor_id = $1`+begins+`
		ORDER BY created_at DESC, seq DESC LIMIT $2`, args...)
	if err != nil {
		return nil, 0, err
	}
	page := make([]registry.EventRecord, 0, len(rows))
	for _, r := range rows {
		rec, err := r.toRecord()
		if err != nil {
			logPartly(s.db.log, "monitor_events", r.ID, err)
		}
		page = append(page, rec)
	}
	if len(page) > 0 && len(page) < limit {
		return page, offset + len(page), nil // it is the last page
	}
	var found struct {
		MonitorExists bool `db:"monitor_exists"`
		Total         int  `db:"total"`
	}
	err = s.db.GetContext(ctx, &found, `
		SELECT EXISTS (SELECT FROM monitors WHERE id = $1) AS monitor_exists,
		       (SELECT count(*) FROM monitor_events WHERE monitor_id = $1) AS total`, id)
	if err == nil && !found.MonitorExists {
		err = monitorNotFound(id)
	}
	return page, found.Total, err
}

// maxKeptAttempts is how many attempts an event keeps that is delivered again. Without it,
// an event that is delivered again and again would grow without bound.
const maxKeptAttempts = 20

// Redeliver implements registry.EventStore. It moves the event to the end of its monitor's
// queue. With its old seq the event would become the head while a gateway may be sending
// the present head. One monitor would then have two deliveries at a time (decision W2). A
// pending event keeps its place.
func (s *EventStore) Redeliver(ctx context.Context, id monitor.ID, eventID string) error {
	if _, err := uuid.Parse(eventID); err != nil {
		return eventNotFound(id, eventID)
	}
	var seqBefore sql.NullInt64 // at the first try; another seq later means that a try was committed
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
		changes, err := changeDeliveries(ctx, tx, `
			UPDATE monitor_events SET
				webhook_status = 'pending', webhook_attempts = 0, webhook_last_error = NULL, sent_at = NULL,
				attempts = CASE WHEN jsonb_array_length(attempts) <= $2 THEN attempts
				                ELSE jsonb_path_query_array(attempts, '$[last - ($most - 1) to last]', jsonb_build_object('most', $2)) END,
				seq = DEFAULT, next_attempt_at = now(), retry_sec = 0, long_schedule = false, leased_until = NULL, lease = NULL
			WHERE id = $1 AND webhook_status IN ('sent', 'failed')`, eventID, maxKeptAttempts)
		if err != nil {
			return err
		}
		if err := wakeDispatcher(ctx, tx); err != nil {
			return err
		}
		return s.db.feed.appendAndCommit(ctx, tx, changes...)
	})
}

func eventNotFound(id monitor.ID, eventID string) error {
	return monitor.Errorf(monitor.NotFound, "monitor %s has no event %.60q", id, eventID)
}
