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

// maxErrorText is how much of an attempt's error is stored, in bytes.
const maxErrorText = 1000

// RecordAttempt implements delivery.Outbox. A failure changes nothing if the event is
// no longer under this lease: it is recorded already, or another gateway has
// leased it. A success is stored for any pending event.
func (o *Outbox) RecordAttempt(ctx context.Context, d delivery.Delivery, a delivery.Attempt, decision delivery.Decision) (monitor.ID, error) {
	a.Error = storableText(a.Error)
	attempt, err := json.Marshal([]registry.Attempt{{At: a.At.UTC(), Status: a.Status, Error: a.Error}})
	if err != nil {
		return "", fmt.Errorf("record an attempt at event %s: %w", d.EventID, err)
	}
	var ended monitor.ID
	err = o.db.inTx(ctx, "record an attempt at event "+d.EventID, func(tx *sqlx.Tx) error {
		ended = ""
		switch {
		case decision.Sent:
			_, err := tx.ExecContext(ctx, `
				UPDATE monitor_events SET
					webhook_status = 'sent', webhook_attempts = webhook_attempts + 1, attempts = attempts || CAST($2 AS jsonb),
					sent_at = now(), leased_until = NULL, lease = NULL
				WHERE id = $1 AND webhook_status = 'pending' AND NOT attempts @> CAST($2 AS jsonb)`, d.EventID, string(sanitizeJSON(attempt)))
			return err
		case decision.Failed:
			var err error
			ended, err = failEvent(ctx, tx, d, a, string(sanitizeJSON(attempt)))
			return err
		}
		_, err := tx.ExecContext(ctx, `
			UPDATE monitor_events SET
				webhook_attempts = webhook_attempts + 1, attempts = attempts || CAST($3 AS jsonb), webhook_last_error = $4,
				next_attempt_at = clock_timestamp() + make_interval(secs => $5), leased_until = NULL, lease = NULL
			WHERE id = $1 AND webhook_status = 'pending' AND lease = $2`,
			d.EventID, d.Lease, string(sanitizeJSON(attempt)), a.Error, min(max(time.Until(decision.RetryAt), 0), delivery.MaxRetryAfter).Seconds())
		return err
	})
	if err != nil {
		return "", err
	}
	return ended, nil
}

// failEvent fails an event and ends its monitor (decision W4). It returns the
// monitor's id if the monitor ended because of its callback, now or earlier, so
// that a repetition returns the same.
func failEvent(ctx context.Context, tx *sqlx.Tx, d delivery.Delivery, a delivery.Attempt, attempt string) (monitor.ID, error) {
	m, err := lockMonitor(ctx, tx, d.MonitorID)
	if err != nil {
		return "", err
	}
	var status string
	err = tx.GetContext(ctx, &status, `
		UPDATE monitor_events SET
			webhook_status = 'failed', webhook_attempts = webhook_attempts + 1, attempts = attempts || CAST($3 AS jsonb),
			webhook_last_error = $4, leased_until = NULL, lease = NULL
		WHERE id = $1 AND webhook_status = 'pending' AND lease = $2
		RETURNING webhook_status`, d.EventID, d.Lease, attempt, a.Error)
	switch {
	case errors.Is(err, sql.ErrNoRows): // recorded already, or under another lease
		if m.callbackFailed() {
			return m.id, nil
		}
		return "", nil
	case err != nil:
		return "", err
	}
	if _, err := tx.ExecContext(ctx, `
		UPDATE monitor_events SET webhook_status = 'failed', webhook_last_error = $2, leased_until = NULL, lease = NULL
		WHERE monitor_id = $1 AND webhook_status = 'pending'`,
		m.id, "not sent: event "+d.EventID+" before it could not be delivered: "+a.Error); err != nil {
		return "", err
	}
	if m.status.Active() {
		return m.id, endMonitor(ctx, tx, m.id, monitor.Failed, event.ReasonCallbackFailed, time.Now())
	}
	if m.callbackFailed() {
		return m.id, nil
	}
	return "", nil
}

// storableText returns text without NUL and invalid UTF-8, cut to maxErrorText.
func storableText(text string) string {
	text = strings.ReplaceAll(text, "\x00", "\ufffd")
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
