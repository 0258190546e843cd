package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// maxErrorText bounds what is kept of why an attempt failed, in bytes.
const maxErrorText = 1000

// NextDue implements deliver.Outbox. A head that is held counts as due when its
// lease ends: if its gateway dies, that is when to look again.
func (s *Store) NextDue(ctx context.Context) (time.Time, error) {
	var wait sql.NullFloat64
	err := s.db.GetContext(ctx, &wait, heads+`
		SELECT CAST(EXTRACT(EPOCH FROM min(GREATEST(
			CASE WHEN `+retryFar+` THEN now() ELSE e.next_attempt_at END,
			CASE WHEN `+leaseFar+` THEN now() ELSE e.leased_until END)) - clock_timestamp()) AS float8)
		FROM monitor_events e WHERE e.id = ANY (ARRAY(SELECT id FROM head))`)
	if err != nil || !wait.Valid {
		return time.Time{}, explain(ctx, "look for the next pending event", err)
	}
	return time.Now().Add(time.Duration(wait.Float64 * float64(time.Second))), nil
}

// Record implements deliver.Outbox. It is idempotent: a letter that is not under
// this lease any more has been recorded, or is somebody else's, and stays as it
// is. One exception: that it was sent is true whatever else happened to it while
// it was pending.
func (s *Store) RecordAttempt(ctx context.Context, l delivery.Delivery, a delivery.Attempt, v delivery.Decision) (monitor.ID, error) {
	a.Error = line(a.Error)
	attempt, err := json.Marshal([]registry.Attempt{{At: a.At.UTC(), Status: a.Status, Error: a.Error}})
	if err != nil {
		return "", fmt.Errorf("record an attempt at event %s: %w", l.EventID, err)
	}
	var ended monitor.ID
	err = s.inTx(ctx, "record an attempt at event "+l.EventID, func(tx *sqlx.Tx) error {
		ended = ""
		switch {
		case v.Sent:
			_, err := tx.ExecContext(ctx, `
				UPDATE monitor_events SET
					webhook_status = 'sent', webhook_attempts = webhook_attempts + 1, attempts = attempts || CAST($2 AS jsonb),
					sent_at = now(), leased_until = NULL, lease = NULL
				WHERE id = $1 AND webhook_status = 'pending' AND NOT attempts @> CAST($2 AS jsonb)`, l.EventID, string(storable(attempt)))
			return err
		case v.Failed:
			var err error
			ended, err = s.fail(ctx, tx, l, a, string(storable(attempt)))
			return err
		}
		_, err := tx.ExecContext(ctx, `
			UPDATE monitor_events SET
				webhook_attempts = webhook_attempts + 1, attempts = attempts || CAST($3 AS jsonb), webhook_last_error = $4,
				next_attempt_at = clock_timestamp() + make_interval(secs => $5), leased_until = NULL, lease = NULL
			WHERE id = $1 AND webhook_status = 'pending' AND lease = $2`,
			l.EventID, l.Lease, string(storable(attempt)), a.Error, min(max(time.Until(v.RetryAt), 0), delivery.MaxRetryAfter).Seconds())
		return err
	})
	if err != nil {
		return "", err
	}
	return ended, nil
}

// fail gives up on a letter, and with it on its monitor's callback (decision
// W4). It returns the monitor when that is how the monitor ended, also when it
// was so before, so that a repetition tells the same.
func (s *Store) fail(ctx context.Context, tx *sqlx.Tx, l delivery.Delivery, a delivery.Attempt, attempt string) (monitor.ID, error) {
	held, err := hold(ctx, tx, l.MonitorID)
	if err != nil {
		return "", err
	}
	var status string
	err = tx.GetContext(ctx, &status, `
		UPDATE monitor_events SET
			webhook_status = 'failed', webhook_attempts = webhook_attempts + 1, attempts = attempts || CAST($3 AS jsonb),
			webhook_last_error = $4, leased_until = NULL, lease = NULL
		WHERE id = $1 AND webhook_status = 'pending' AND lease = $2
		RETURNING webhook_status`, l.EventID, l.Lease, attempt, a.Error)
	switch {
	case errors.Is(err, sql.ErrNoRows): // recorded before, or the lease was lost
		if held.reason == event.ReasonCallbackFailed {
			return held.id, nil
		}
		return "", nil
	case err != nil:
		return "", err
	}
	if _, err := tx.ExecContext(ctx, `
		UPDATE monitor_events SET webhook_status = 'failed', webhook_last_error = $2, leased_until = NULL, lease = NULL
		WHERE monitor_id = $1 AND webhook_status = 'pending'`,
		held.id, "not sent: event "+l.EventID+" before it could not be delivered: "+a.Error); err != nil {
		return "", err
	}
	if held.status.Active() {
		return held.id, end(ctx, tx, held.id, monitor.Failed, event.ReasonCallbackFailed, time.Now())
	}
	if held.reason == event.ReasonCallbackFailed {
		return held.id, nil
	}
	return "", nil
}

// line makes text storable and short.
func line(text string) string {
	text = strings.ReplaceAll(text, "\x00", "\ufffd")
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
