package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/destination"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// DestinationOutbox leases the deliveries to destinations and records what came of them.
type DestinationOutbox struct {
	db          *database
	unconfirmed unconfirmedLeases
	successes   groupQueue[*queuedSuccess]
}

// recordedDelivery is a row of deliveries that a transaction has locked.
type recordedDelivery struct {
	ID            string         `db:"id"`
	DestinationID string         `db:"destination_id"`
	EventID       sql.NullString `db:"event_id"`
	Thread        bool           `db:"thread"`
	State         string         `db:"state"`
	Lease         sql.NullString `db:"lease"`
	Changed       bool           `db:"changed"`
	Tried         int            `db:"tried"`
	Attempts      []byte         `db:"attempts"`
	LastError     string         `db:"last_error"`
	Now           time.Time      `db:"now"`
}

const selectRecorded = `
	SELECT id, destination_id, event_id, incident_id IS NOT NULL OR storm_id IS NOT NULL AS thread, state, lease, changed, tried, attempts, last_error,
	       clock_timestamp() AS now
	FROM deliveries`

// knownSuccess is how long ago a destination took something that need not be stored again.
const knownSuccess = time.Second

// knows reports whether an outcome is one more success of a healthy destination, which
// changes nothing in its row. By a clock that differs from the database's it is stored again.
func (r destinationRow) knows(o destination.Outcome) bool {
	age := time.Since(r.DeliveredAt.Time)
	return o.Delivered && !o.EditedAndPushed && r.Failures == 0 && !r.FailingSince.Valid && !r.ClosedUntil.Valid && r.LastError == "" && r.DeliveredAt.Valid && age >= 0 && age < knownSuccess
}

// RecordAttempt implements destination.Outbox. It locks the destination
// before the delivery, as its deletion does. A destination that takes one delivery after the
// other is not locked for each: leases pass over locked ones. Such successes that come while
// others are being stored share a transaction.
func (o *DestinationOutbox) RecordAttempt(ctx context.Context, d destination.Delivery, outcome destination.Outcome) (string, error) {
	if mayShare(outcome) {
		one := &queuedSuccess{queueItem: newQueueItem(ctx, d.ID), delivery: d, outcome: outcome}
		if err := o.successes.add(one, o.storeSuccessGroup); err != nil {
			return "", wrapError(ctx, "record an attempt at delivery "+d.ID, err)
		}
		if !one.alone {
			return "", nil
		}
	}
	return o.recordAlone(ctx, d, outcome)
}

func (o *DestinationOutbox) recordAlone(ctx context.Context, d destination.Delivery, outcome destination.Outcome) (string, error) {
	var disabled string
	err := o.db.inTx(ctx, "record an attempt at delivery "+d.ID, func(tx *sqlx.Tx) error {
		disabled = ""
		destination, err := readDestination(ctx, tx, d.Destination.ID, "")
		known := err == nil && destination.knows(outcome)
		if err == nil && !known {
			destination, err = readDestination(ctx, tx, d.Destination.ID, " FOR NO KEY UPDATE")
		}
		var refusal *monitor.Error
		if errors.As(err, &refusal) && refusal.Code == routing.DestinationNotFound {
			return nil // it was deleted, and the delivery with it
		}
		if err != nil {
			return err
		}
		var row recordedDelivery
		err = tx.GetContext(ctx, &row, selectRecorded+` WHERE id = $1 FOR NO KEY UPDATE`, d.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // its event or its incident has expired
		}
		if err != nil {
			return err
		}
		leased := row.Lease.String == d.LeaseID
		if outcome.Attempt == nil {
			if !leased {
				return nil
			}
			return o.storeNothingToTell(ctx, tx, row, outcome)
		}
		attempts, repeated, err := row.with(*outcome.Attempt)
		switch {
		case err != nil:
			return err
		case repeated:
			disabled = destination.DisabledReason
			return nil
		case !leased && !outcome.Delivered:
			return nil // another gateway makes it now, or has made it
		}
		if err := o.storeAttempt(ctx, tx, row, attempts, leased, outcome); err != nil || known {
			return err
		}
		disabled, err = storeHealth(ctx, tx, destination, row.Now, outcome)
		return err
	})
	if err != nil {
		return "", err
	}
	return disabled, nil
}

// with returns the attempts, the newest last, as JSON. repeated reports whether the new one
// is stored already.
func (r recordedDelivery) with(a delivery.Attempt) (encoded string, repeated bool, err error) {
	var attempts []registry.Attempt
	if err := json.Unmarshal(r.Attempts, &attempts); err != nil {
		return "", false, fmt.Errorf("attempts: %w", err)
	}
	if slices.ContainsFunc(attempts, func(stored registry.Attempt) bool { return stored.At.Equal(a.At) }) {
		return "", true, nil
	}
	attempts = append(attempts, registry.Attempt{At: a.At.UTC(), Status: a.Status, Error: storableText(a.Error), Exchange: a.Exchange})
	raw, err := json.Marshal(attempts[max(len(attempts)-maxKeptAttempts, 0):])
	return string(sanitizeJSON(raw)), false, err
}

// rowState is what an outcome makes of a delivery.
type rowState struct {
	state    string
	dueIn    sql.NullFloat64 // seconds from now; NULL: nothing is due
	newRound bool            // the next attempt is the first at another message
}

// stateAfter returns what an outcome makes of a delivery. A change since the lease makes a
// thread due at once, unless a retry comes that will tell it.
func (r recordedDelivery) stateAfter(o destination.Outcome) rowState {
	due := sql.NullFloat64{Float64: max(time.Until(o.DueAt), 0).Seconds(), Valid: !o.DueAt.IsZero()}
	retried := o.Attempt != nil && !o.Delivered && !o.Failed
	switch {
	case retried:
		return rowState{"pending", due, false}
	case r.Thread && r.Changed:
		return rowState{"pending", sql.NullFloat64{Valid: true}, true}
	case o.Failed:
		return rowState{"failed", sql.NullFloat64{}, true}
	case due.Valid:
		return rowState{"pending", due, true}
	case o.Delivered:
		return rowState{"delivered", due, true}
	}
	return rowState{"idle", due, true}
}

// storeNothingToTell ends the lease of a thread of which nothing was sent. The token of the
// rate limit that the lease took is given back.
func (o *DestinationOutbox) storeNothingToTell(ctx context.Context, tx *sqlx.Tx, r recordedDelivery, outcome destination.Outcome) error {
	after := r.stateAfter(outcome)
	if _, err := tx.ExecContext(ctx, `
		UPDATE deliveries SET state = CASE WHEN CAST($2 AS text) = 'idle' AND told IS NOT NULL THEN 'delivered' ELSE CAST($2 AS text) END,
			due_at = clock_timestamp() + make_interval(secs => CAST($3 AS float8)), planned_at = now(),
			round_began_at = COALESCE(clock_timestamp() + make_interval(secs => CAST($3 AS float8)), round_began_at),
			tried = 0, changed = false, leased_until = NULL, lease = NULL
		WHERE id = $1`, r.ID, after.state, after.dueIn); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE destinations SET tokens = tokens + 1 WHERE id = $1`, r.DestinationID)
	return err
}

// countAttempt counts an attempt at the delivery $1 in the present hour of its destination. $2
// is 1 if it was delivered, else 0.
const countAttempt = `
	WITH counted AS (
		INSERT INTO destination_hours AS h (destination_id, hour, delivered, failed)
		SELECT destination_id, date_trunc('hour', now(), 'UTC'), CAST($2 AS int), 1 - CAST($2 AS int) FROM deliveries WHERE id = $1
		ON CONFLICT (destination_id, hour) DO UPDATE SET delivered = h.delivered + excluded.delivered, failed = h.failed + excluded.failed)`

// storeAttempt stores an attempt and what follows from it. Another gateway may have the lease
// of a success by now. That gateway then decides what follows for a thread.
func (o *DestinationOutbox) storeAttempt(ctx context.Context, tx *sqlx.Tx, r recordedDelivery, attempts string, leased bool, outcome destination.Outcome) error {
	var told sql.NullString
	if outcome.Notified != nil && (leased || outcome.Delivered) {
		encoded, err := json.Marshal(outcome.Notified)
		if err != nil {
			return fmt.Errorf("what was told: %w", err)
		}
		told = nullText(sanitizeJSON(encoded))
	}
	if !leased && r.Thread && r.Lease.Valid {
		_, err := tx.ExecContext(ctx, countAttempt+`
			UPDATE deliveries SET attempts = CAST($3 AS jsonb), told = COALESCE(CAST($4 AS jsonb), told), delivered_at = now() WHERE id = $1`,
			r.ID, 1, attempts, told)
		return err
	}
	after := r.stateAfter(outcome)
	lastError := ""
	if !outcome.Delivered {
		lastError = storableText(outcome.Attempt.Error)
	}
	delivered := 0
	if outcome.Delivered {
		delivered = 1
	}
	_, err := tx.ExecContext(ctx, countAttempt+`
		UPDATE deliveries SET
			state = CAST($3 AS text), due_at = clock_timestamp() + make_interval(secs => CAST($4 AS float8)), planned_at = now(),
			round_began_at = CASE WHEN $5 THEN COALESCE(clock_timestamp() + make_interval(secs => CAST($4 AS float8)), round_began_at) ELSE round_began_at END,
			tried = CASE WHEN $5 AND CAST($3 AS text) = 'pending' THEN 0 ELSE tried + 1 END,
			blocks_until = CASE WHEN CAST($3 AS text) = 'pending' AND sequence IS NOT NULL THEN COALESCE(blocks_until, now() + interval '1 minute') END,
			attempts = CAST($6 AS jsonb), last_error = $7, told = COALESCE(CAST($8 AS jsonb), told),
			delivered_at = CASE WHEN CAST($2 AS int) = 1 THEN now() ELSE delivered_at END,
			changed = false, leased_until = NULL, lease = NULL
		WHERE id = $1`, r.ID, delivered, after.state, after.dueIn, after.newRound, attempts, lastError, told)
	return err
}

// storeHealth stores what an attempt says about a locked destination. It returns why the
// destination is disabled by it; empty: it is not.
func storeHealth(ctx context.Context, tx *sqlx.Tx, d destinationRow, now time.Time, o destination.Outcome) (disabled string, err error) {
	before := notify.Health{Failures: d.Failures, FailingSince: timeOrZero(d.FailingSince), CircuitOpenUntil: timeOrZero(d.ClosedUntil)}
	if d.PausedAt.Time.After(now.Add(10 * time.Second)) {
		before.CircuitOpenUntil = time.Time{} // see pauses
	}
	secondRequests := 0
	if o.EditedAndPushed {
		secondRequests = 1
	}
	after := before.After(now, o.Class, o.Attempt.Status, o.Attempt.RetryAfter)
	if _, err := tx.ExecContext(ctx, `
		UPDATE destinations SET failures = $2, failing_since = $3, closed_until = $4, paused_at = CASE WHEN CAST($4 AS timestamptz) IS NOT NULL THEN CAST($6 AS timestamptz) END, tokens = tokens - CAST($7 AS int),
			last_error = CASE WHEN CAST($5 AS text) = '' AND CAST($4 AS timestamptz) IS NOT NULL THEN last_error ELSE CAST($5 AS text) END, delivered_at = CASE WHEN CAST($5 AS text) = '' THEN now() ELSE delivered_at END
		WHERE id = $1`, d.ID, after.Failures, nullTime(after.FailingSince), nullTime(after.CircuitOpenUntil), storableText(o.Attempt.Error), now.UTC(), secondRequests); err != nil {
		return "", err
	}
	reason, failedForDays := after.Disable(now)
	notice := message.Notice{
		Destination: d.Name, Cause: message.FailedForDays, FailingSince: after.FailingSince.UTC(), LastError: storableText(o.Attempt.Error), At: now.UTC(),
	}
	if o.DisableDestination {
		notice.Cause, reason = message.Gone, "it does not exist any more: "+notice.LastError
	}
	if !o.DisableDestination && !failedForDays || !d.Enabled {
		return "", nil
	}
	return reason, disableDestination(ctx, tx, d, reason, notice)
}

// noticeTargets selects the destinations that are told that $1 is disabled. That is its
// fallback $2, or else the destinations of the default route, or else all. Each of them must
// be enabled and get messages, of which a webhook ($3) gets none.
const noticeTargets = `
	WITH able AS (
		SELECT id, CASE WHEN id = $2 THEN 1 WHEN id = ANY (SELECT unnest(destinations) FROM routes WHERE is_default) THEN 2 ELSE 3 END AS choice
		FROM destinations WHERE enabled AND id <> $1 AND kind <> $3)
	SELECT id FROM destinations WHERE id IN (SELECT id FROM able WHERE choice = (SELECT min(choice) FROM able))
	ORDER BY id FOR KEY SHARE`

// disableDestination disables a locked destination for a reason, and tells those of noticeTargets.
func disableDestination(ctx context.Context, tx *sqlx.Tx, d destinationRow, reason string, n message.Notice) error {
	notice, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE destinations SET enabled = false, disabled_reason = $2, updated_at = now() WHERE id = $1`, d.ID, reason); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE routing_version SET version = version + 1`); err != nil {
		return err
	}
	var targets []string
	if err := tx.SelectContext(ctx, &targets, noticeTargets, d.ID, d.Fallback, notify.Webhook); err != nil {
		return err
	}
	for _, target := range targets {
		if _, err := tx.ExecContext(ctx, `
			INSERT INTO deliveries (id, destination_id, notice, state, due_at, created_at) VALUES ($1, $2, CAST($3 AS jsonb), 'pending', now(), now())`,
			uuid.Must(uuid.NewV7()).String(), target, string(sanitizeJSON(notice))); err != nil {
			return err
		}
	}
	return wakeDestinations(ctx, tx)
}
