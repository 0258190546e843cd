package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// EventStore reads the events of monitors and delivers them again on request.
type EventStore struct{ db *database }

type eventRow struct {
	monitors.EventRecord

	Body            string `db:"body"`
	EncodedAttempts []byte `db:"attempts"`
}

// toRecord returns the event. If its attempts cannot be read, it returns the rest with the error.
func (r eventRow) toRecord() (monitors.EventRecord, error) {
	r.Payload = json.RawMessage(r.Body)
	err := json.Unmarshal(r.EncodedAttempts, &r.Attempts)
	return r.EventRecord, err
}

// Events implements monitors.EventStore.
func (s *EventStore) Events(ctx context.Context, id monitor.ID, limit, offset int) ([]monitors.EventRecord, int, error) {
	page, total, err := s.events(ctx, id, limit, offset)
	return page, total, wrapError(ctx, "read the events of "+string(id), err)
}

// events finds by the index alone where the page begins.
func (s *EventStore) events(ctx context.Context, id monitor.ID, limit, offset int) ([]monitors.EventRecord, int, error) {
	begins, args := ``, []any{id, limit}
	if offset > 0 {
		begins = ` AND (created_at, seq) <= (SELECT created_at, seq FROM monitor_events WHERE monitor_id = $1 ORDER BY created_at DESC, seq DESC LIMIT 1 OFFSET $3)`
		args = append(args, offset)
	}
	var rows []eventRow
	err := s.db.SelectContext(ctx, &rows, `
		SELECT e.id, e.event_type, e.body, e.webhook_status, COALESCE(x.attempts, '[]') AS attempts, e.webhook_last_error, e.created_at, e.sent_at, e.resolved_at, COALESCE(`+onLongSchedule+`, false) AS long_schedule
		FROM (SELECT * FROM monitor_events WHERE monitor_id = $1`+begins+` ORDER BY created_at DESC, seq DESC LIMIT $2) AS e
		LEFT JOIN deliveries x ON x.id = e.id
		ORDER BY e.created_at DESC, e.seq DESC`, args...)
	if err != nil {
		return nil, 0, err
	}
	page := make([]monitors.EventRecord, 0, len(rows))
	for _, r := range rows {
		rec, err := r.toRecord()
		if err != nil {
			logPartly(s.db.log, "monitor_events", r.EventID, err)
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

// onLongSchedule is the condition of a delivery x to a callback that is retried while the events behind it do not wait any
// more (section 19.5).
const onLongSchedule = `(x.state = 'pending' AND x.queue IS NULL)`

// Redeliver implements monitors.EventStore. It moves the event to the end of its monitor's
// queue. In its old place it would become the first while a gateway may be sending
// the present one. One monitor would then have two deliveries at a time (decision W2). A
// pending event keeps its place.
func (s *EventStore) Redeliver(ctx context.Context, id monitor.ID, eventID string) error {
	if !monitor.IsUUID(eventID) {
		return eventNotFound(id, eventID)
	}
	var seqBefore sql.NullInt64 // at the first try; another one later means that a try was committed
	return s.db.inTx(ctx, "redeliver event "+eventID, func(tx *sqlx.Tx) error {
		if _, err := lockMonitor(ctx, tx, id); err != nil {
			return err
		}
		var seq sql.NullInt64
		err := tx.GetContext(ctx, &seq, `SELECT seq FROM deliveries WHERE id = $1 AND monitor_id = $2 AND destination_id IS NULL`, eventID, id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			switch has, err := hasEvent(ctx, tx, id, eventID); {
			case err != nil:
				return err
			case !has:
				return eventNotFound(id, eventID)
			}
			return monitor.Errorf(monitor.InvalidConfig, "event %s was for no callback: the monitor had none", eventID)
		case err != nil:
			return err
		case seqBefore.Valid && seqBefore != seq:
			return nil
		}
		seqBefore = seq
		var again []string
		if err := tx.SelectContext(ctx, &again, `
			UPDATE deliveries SET
				state = 'pending', tried = 0, last_error = '', failing_since = NULL, delivered_at = NULL, lease = NULL, queue = monitor_id, seq = DEFAULT,
				due_at = now(), round_began_at = now()
			WHERE id = $1 AND state <> 'pending' RETURNING id`, eventID); err != nil || len(again) == 0 {
			return err
		}
		if _, err := advanceQueues(ctx, tx, []string{string(id)}, 0); err != nil { // it may have been made, and not have left yet
			return err
		}
		changes, err := mirrorCallbacks(ctx, tx, again)
		if err != nil {
			return err
		}
		if err := wakeDispatchers(ctx, tx); err != nil {
			return err
		}
		return addToFeed(ctx, tx, changes...)
	})
}

func eventNotFound(id monitor.ID, eventID string) error {
	return monitor.Errorf(monitor.NotFound, "monitor %s has no event %.60q", id, eventID)
}
