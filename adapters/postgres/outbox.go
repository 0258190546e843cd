package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// isPending is the condition of an event that is pending, where it is found by its id or its
// monitor. The condition of no index follows from it alone. By old statistics, an index of pending
// events looks as good as that of the id, and would be read as a whole.
const isPending = `webhook_status IS NOT DISTINCT FROM 'pending'`

// maxErrorText is the maximum length of an attempt's stored error, in bytes.
const maxErrorText = 1000

// RecordAttempt implements callback.Outbox. It stores a failure only if the event still has
// this lease ID. If it has not, the failure is stored already, or another gateway has
// leased the event. It stores a success for any pending event. A lease that has expired
// keeps its ID until another call of Lease takes the event. Successes that come while others
// are being stored share a transaction.
func (o *Outbox) RecordAttempt(ctx context.Context, d callback.Delivery, a delivery.Attempt, decision callback.Decision) (monitor.ID, error) {
	a.Error = storableText(a.Error)
	encoded, err := encodeAttempt(a)
	if err != nil {
		return "", fmt.Errorf("record an attempt at event %s: %w", d.EventID, err)
	}
	if decision.Delivered {
		one := newQueuedSent(ctx, d, encoded)
		if err := o.successes.add(one, o.storeSentGroup); err != nil {
			return "", wrapError(ctx, "record an attempt at event "+d.EventID, err)
		}
		if !one.alone {
			return "", nil
		}
	}
	return o.recordAlone(ctx, d, a, encoded, decision)
}

// encodeAttempt returns a JSON array of an attempt.
func encodeAttempt(a delivery.Attempt) (string, error) {
	encoded, err := json.Marshal([]registry.Attempt{{At: a.At.UTC(), Status: a.Status, Error: a.Error, Exchange: a.Exchange}})
	return string(sanitizeJSON(encoded)), err
}

// recordAlone stores an attempt in a transaction of its own.
func (o *Outbox) recordAlone(ctx context.Context, d callback.Delivery, a delivery.Attempt, attemptJSON string, decision callback.Decision) (monitor.ID, error) {
	var ended monitor.ID
	err := o.db.inTx(ctx, "record an attempt at event "+d.EventID, func(tx *sqlx.Tx) error {
		ended = ""
		var changes []feed.Data
		var err error
		switch {
		case decision.Delivered:
			changes, err = changeDeliveries(ctx, tx, `
				UPDATE monitor_events SET
					webhook_status = 'sent', webhook_attempts = webhook_attempts + 1, attempts = attempts || CAST($2 AS jsonb),
					sent_at = now(), leased_until = NULL, lease = NULL
				WHERE id = $1 AND `+isPending+` AND NOT attempts @> CAST($2 AS jsonb)`, d.EventID, attemptJSON)
		case decision.Failed && !decision.MonitorGoesOn:
			ended, changes, err = o.failEvent(ctx, tx, d, a, attemptJSON)
		default:
			changes, err = changeDeliveries(ctx, tx, `
				UPDATE monitor_events SET
					webhook_status = CASE WHEN $6 THEN 'failed' ELSE webhook_status END, long_schedule = $7,
					webhook_attempts = webhook_attempts + 1, attempts = attempts || CAST($3 AS jsonb), webhook_last_error = $4,
					next_attempt_at = clock_timestamp() + make_interval(secs => $5), retry_sec = $5, leased_until = NULL, lease = NULL
				WHERE id = $1 AND `+isPending+` AND lease = $2`,
				d.EventID, d.LeaseID, attemptJSON, a.Error, max(time.Until(decision.RetryAt), 0).Seconds(), decision.Failed, decision.LongSchedule)
		}
		if err != nil {
			return err
		}
		return o.db.feed.appendAndCommit(ctx, tx, changes...)
	})
	if err != nil {
		return "", err
	}
	return ended, nil
}

// failEvent fails an event and those behind it, and ends its monitor (decision W4). It
// returns the changes, and the monitor's ID if the monitor ended because a webhook could
// not be delivered. It does so also if an earlier call ended the monitor, so that a
// repeated call returns the same result.
func (o *Outbox) failEvent(ctx context.Context, tx *sqlx.Tx, d callback.Delivery, a delivery.Attempt, attemptJSON string) (monitor.ID, []feed.Data, error) {
	m, err := lockMonitor(ctx, tx, d.MonitorID)
	if err != nil {
		return "", nil, err
	}
	failed, err := changeDeliveries(ctx, tx, `
		UPDATE monitor_events SET
			webhook_status = 'failed', webhook_attempts = webhook_attempts + 1, attempts = attempts || CAST($3 AS jsonb),
			webhook_last_error = $4, leased_until = NULL, lease = NULL
		WHERE id = $1 AND `+isPending+` AND lease = $2`, d.EventID, d.LeaseID, attemptJSON, a.Error)
	if err != nil {
		return "", nil, err
	}
	var ended monitor.ID
	if m.callbackFailed() {
		ended = m.id
	}
	if len(failed) == 0 { // stored already, or leased by another gateway
		return ended, nil, nil
	}
	behind, err := changeDeliveries(ctx, tx, `
		UPDATE monitor_events SET webhook_status = 'failed', webhook_last_error = $2, leased_until = NULL, lease = NULL
		WHERE monitor_id = $1 AND `+isPending,
		m.id, "not sent, because the monitor ended: its earlier event "+d.EventID+" could not be delivered: "+a.Error)
	if err != nil {
		return "", nil, err
	}
	changes := slices.Concat(failed, behind)
	if !m.status.Active() {
		return ended, changes, nil
	}
	now := time.Now()
	if err := endMonitor(ctx, tx, m.id, monitor.Failed, event.ReasonCallbackFailed, now); err != nil {
		return "", nil, err
	}
	incidents, err := o.db.recordIncidents(ctx, tx, optionally, found{monitor: m, ended: &incident.MonitorEnded{
		At: now, Failed: true, Alert: &incident.Alert{EventID: d.EventID, At: now, Reason: event.ReasonCallbackFailed, Detail: a.Error},
	}})
	if err != nil {
		return "", nil, err
	}
	end, err := o.db.feed.monitorChanges(ctx, tx, m.id)
	return m.id, slices.Concat(changes, end, incidents), err
}

// storableText returns text without NUL and invalid UTF-8, cut to maxErrorText.
func storableText(text string) string {
	text = strings.ReplaceAll(text, "\x00", "\ufffd")
	if len(text) > maxErrorText {
		text = text[:maxErrorText]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
