package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/control"
	"github.com/stream-monitor/stream-monitor/application/deliver"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// maxErrorText bounds what is kept of why an attempt failed, in bytes.
const maxErrorText = 1000

// heads finds the head of every monitor's queue. It hops through
// idx_monitor_events_queue from monitor to monitor, so its cost is that of the
// monitors that have pending events, however many those are. It sorts by the
// whole key of that index, and hands the heads on as an array, so that the
// planner sees no reason to read a backlog through another index.
const heads = `
	WITH RECURSIVE head (id, monitor_id, seq) AS (
		(SELECT id, monitor_id, seq FROM monitor_events
		 WHERE webhook_status = 'pending'
		 ORDER BY monitor_id, seq LIMIT 1)
		UNION ALL
		SELECT next.id, next.monitor_id, next.seq
		FROM head CROSS JOIN LATERAL (
			SELECT e.id, e.monitor_id, e.seq FROM monitor_events e
			WHERE e.webhook_status = 'pending' AND e.monitor_id > head.monitor_id
			ORDER BY e.monitor_id, e.seq LIMIT 1) AS next)`

// lease takes the due heads. What it finds is looked at again once locked, so
// an event that another gateway leased or finished meanwhile is passed over. So
// is one that was finished and then put at the end of its queue: it is pending
// again, but its seq as locked is not the one it was the head with. IS NOT
// DISTINCT FROM is an equality that no index offers itself for.
const lease = heads + `,
	due AS (
		SELECT e.id, e.seq FROM monitor_events e
		WHERE e.id = ANY (ARRAY(SELECT id FROM head)) AND e.webhook_status IS NOT DISTINCT FROM 'pending'
		  AND e.next_attempt_at <= now() AND (e.leased_until IS NULL OR e.leased_until <= now())
		ORDER BY e.next_attempt_at, e.seq
		LIMIT $1
		FOR UPDATE OF e SKIP LOCKED)
	UPDATE monitor_events e SET leased_until = now() + make_interval(secs => $2)
	FROM monitors m
	WHERE e.id = ANY (ARRAY(SELECT id FROM due JOIN head USING (id, seq))) AND m.id = e.monitor_id
	RETURNING e.id, e.event_type, e.monitor_id, m.callback_url, e.body, e.webhook_attempts, e.seq`

type letterRow struct {
	ID          string `db:"id"`
	EventType   string `db:"event_type"`
	MonitorID   string `db:"monitor_id"`
	CallbackURL string `db:"callback_url"`
	Body        string `db:"body"`
	Attempts    int    `db:"webhook_attempts"`
	Seq         int64  `db:"seq"`
}

// Lease implements deliver.Outbox.
func (s *Store) Lease(ctx context.Context, limit int, term time.Duration) ([]deliver.Letter, error) {
	var rows []letterRow
	if err := s.db.SelectContext(ctx, &rows, lease, limit, term.Seconds()); err != nil {
		return nil, explain(ctx, "lease pending events", err)
	}
	slices.SortFunc(rows, func(a, b letterRow) int { return cmp.Compare(a.Seq, b.Seq) })
	letters := make([]deliver.Letter, 0, len(rows))
	for _, r := range rows {
		letters = append(letters, deliver.Letter{
			EventID:     r.ID,
			EventType:   event.Type(r.EventType),
			MonitorID:   monitor.ID(r.MonitorID),
			CallbackURL: monitor.CallbackURL(r.CallbackURL),
			Body:        []byte(r.Body),
			Attempts:    r.Attempts,
		})
	}
	return letters, nil
}

// NextDue implements deliver.Outbox. A head that is held counts as due when its
// lease ends: if its gateway dies, that is when to look again.
func (s *Store) NextDue(ctx context.Context) (time.Time, error) {
	var wait sql.NullFloat64
	err := s.db.GetContext(ctx, &wait, heads+`
		SELECT CAST(EXTRACT(EPOCH FROM min(GREATEST(e.next_attempt_at, e.leased_until)) - clock_timestamp()) AS float8)
		FROM monitor_events e WHERE e.id = ANY (ARRAY(SELECT id FROM head))`)
	if err != nil || !wait.Valid {
		return time.Time{}, explain(ctx, "look for the next pending event", err)
	}
	return time.Now().Add(time.Duration(wait.Float64 * float64(time.Second))), nil
}

// Record implements deliver.Outbox. It is idempotent: a letter whose count of
// attempts is no longer the one leased has been recorded by somebody, and
// stays as it is. One exception: that it was sent is true whatever else
// happened to it while it was pending.
func (s *Store) Record(ctx context.Context, l deliver.Letter, a deliver.Answer, v deliver.Verdict) (monitor.ID, error) {
	a.Err = line(a.Err)
	attempt, err := json.Marshal([]control.Attempt{{At: a.At.UTC(), Status: a.Status, Error: a.Err}})
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
					sent_at = now(), leased_until = NULL
				WHERE id = $1 AND webhook_status = 'pending'`, l.EventID, string(storable(attempt)))
			return err
		case v.Failed:
			var err error
			ended, err = s.fail(ctx, tx, l, a, string(storable(attempt)))
			return err
		}
		_, err := tx.ExecContext(ctx, `
			UPDATE monitor_events SET
				webhook_attempts = webhook_attempts + 1, attempts = attempts || CAST($3 AS jsonb), webhook_last_error = $4,
				next_attempt_at = clock_timestamp() + make_interval(secs => $5), leased_until = NULL
			WHERE id = $1 AND webhook_status = 'pending' AND webhook_attempts = $2`,
			l.EventID, l.Attempts, string(storable(attempt)), a.Err, max(time.Until(v.RetryAt), 0).Seconds())
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
func (s *Store) fail(ctx context.Context, tx *sqlx.Tx, l deliver.Letter, a deliver.Answer, attempt string) (monitor.ID, error) {
	held, err := hold(ctx, tx, l.MonitorID)
	if err != nil {
		return "", err
	}
	var status string
	err = tx.GetContext(ctx, &status, `
		UPDATE monitor_events SET
			webhook_status = 'failed', webhook_attempts = webhook_attempts + 1, attempts = attempts || CAST($3 AS jsonb),
			webhook_last_error = $4, leased_until = NULL
		WHERE id = $1 AND webhook_status = 'pending' AND webhook_attempts = $2
		RETURNING webhook_status`, l.EventID, l.Attempts, attempt, a.Err)
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
		UPDATE monitor_events SET webhook_status = 'failed', webhook_last_error = $2, leased_until = NULL
		WHERE monitor_id = $1 AND webhook_status = 'pending'`,
		held.id, "not sent: event "+l.EventID+" before it could not be delivered: "+a.Err); err != nil {
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
