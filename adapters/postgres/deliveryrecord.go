package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const (
	maxErrorText    = 1000 // bytes of an attempt's stored error
	maxKeptAttempts = 20   // of a delivery; those before are dropped, but for the first success
)

// attemptedRow is a delivery that an attempt was made at, which the transaction has locked.
type attemptedRow struct {
	ID            string         `db:"id"`
	DestinationID sql.NullString `db:"destination_id"` // NULL: the callback
	Thread        bool           `db:"thread"`
	Storm         bool           `db:"storm"`
	Queue         sql.NullString `db:"queue"`
	State         string         `db:"state"`
	Lease         sql.NullString `db:"lease"`
	Changed       bool           `db:"changed"`
	Attempts      []byte         `db:"attempts"`
	Now           time.Time      `db:"now"`
}

const selectAttempted = `
	SELECT id, destination_id, incident_id IS NOT NULL OR storm IS NOT NULL AS thread, storm IS NOT NULL AS storm, queue, state, lease, changed, attempts, clock_timestamp() AS now
	FROM deliveries`

// isCallbackOutOfQueue reports whether it has left the queue of its callback, where only one of such deliveries is made at a time.
func (r attemptedRow) isCallbackOutOfQueue() bool { return !r.DestinationID.Valid && !r.Queue.Valid }

// with returns the attempts, the newest last, as JSON. repeated reports whether the new one
// is stored already.
func (r attemptedRow) with(a event.Attempt) (encoded string, repeated bool, err error) {
	var attempts []event.Attempt
	if err := json.Unmarshal(r.Attempts, &attempts); err != nil {
		return "", false, fmt.Errorf("attempts: %w", err)
	}
	if slices.ContainsFunc(attempts, func(stored event.Attempt) bool { return stored.At.Equal(a.At) }) {
		return "", true, nil
	}
	a.At, a.Error = a.At.UTC(), storableText(a.Error)
	attempts = append(attempts, a)
	for len(attempts) > maxKeptAttempts {
		oldest := 0
		if attempts[0].Accepted() { // it says when somebody was first told
			oldest = 1
		}
		attempts = slices.Delete(attempts, oldest, oldest+1)
	}
	raw, err := json.Marshal(attempts)
	return string(monitor.SanitizeJSON(raw)), false, err
}

// Record implements delivery.Outbox. A success that changes nothing but its own delivery, as most
// do, shares a transaction with others. Locks are taken in this order: the monitor and its newest incident, if it
// ends; the destination, if its health changes; the delivery.
func (o *Outbox) Record(ctx context.Context, d delivery.Delivery, outcome delivery.Outcome) (delivery.Recorded, error) {
	outcome.At = roundToMicroseconds(outcome.At)
	if outcome.Delivered && outcome.Notified == nil && !outcome.EditedAndPushed {
		one := &queuedSuccess{queueItem: newQueueItem(ctx, d.ID), delivery: d, outcome: outcome}
		if err := o.successes.add(one, together(o.db, o.recordSuccesses)); err != nil {
			return delivery.Recorded{}, wrapError(ctx, "record an attempt at delivery "+d.ID, err)
		}
		if !one.alone {
			return one.recorded, nil
		}
	}
	var recorded delivery.Recorded
	var disabled *message.Notice
	err := o.db.inTx(ctx, "record an attempt at delivery "+d.ID, func(tx *sqlx.Tx) (err error) {
		recorded, disabled, err = o.recordAlone(ctx, tx, d, outcome)
		return err
	})
	if err != nil || disabled == nil {
		return recorded, err
	}
	// It locks the version of the routing, and a destination after it. If the gateway ends here, the next
	// failure disables the destination.
	recorded.Disabled = disabledReason(*disabled)
	return recorded, o.db.changeRouting(ctx, "disable destination "+d.Destination.ID, func(tx *sqlx.Tx) error {
		return disableDestination(ctx, tx, d.Destination.ID, *disabled)
	})
}

// recordAlone records an attempt. disabled is set if the destination is to be disabled for it.
func (o *Outbox) recordAlone(ctx context.Context, tx *sqlx.Tx, d delivery.Delivery, outcome delivery.Outcome) (recorded delivery.Recorded, disabled *message.Notice, err error) {
	var m lockedMonitor
	if outcome.EndMonitor {
		if m, err = lockToEnd(ctx, tx, d.Event.MonitorID); err != nil {
			return recorded, nil, err
		}
	}
	var health *destinationRow // nil: it does not change
	if d.Policy.HasHealth {
		row, err := readDestination(ctx, tx, d.Destination.ID, "")
		if _, known := row.staysHealthy(outcome); err == nil && !known {
			row, err = readDestination(ctx, tx, d.Destination.ID, " FOR NO KEY UPDATE")
			health = &row
		}
		var refusal *monitor.Error
		if errors.As(err, &refusal) && refusal.Code == routing.DestinationNotFound {
			return recorded, nil, nil // it was deleted, and the delivery with it
		}
		if err != nil {
			return recorded, nil, err
		}
	}
	var row attemptedRow
	err = tx.GetContext(ctx, &row, selectAttempted+` WHERE id = $1 FOR UPDATE`, d.ID) // it may leave its queue: see insertDeliveries
	if errors.Is(err, sql.ErrNoRows) {
		return recorded, nil, nil // its event or its incident has expired
	}
	if err != nil {
		return recorded, nil, err
	}
	attempts, repeated, err := row.with(outcome.Attempt)
	switch leased := row.Lease.String == d.LeaseID; {
	case err != nil:
		return recorded, nil, err
	case repeated:
		if m.callbackFailed() {
			recorded.EndedMonitor = m.id
		}
		if health != nil {
			disabled = noticeOf(*health, health.health(), row.Now, outcome)
		}
		return recorded, disabled, nil
	case !leased && !outcome.Delivered, !row.Thread && row.State != "pending":
		return recorded, nil, nil // another gateway makes it now, or has made it
	case !leased && row.Thread && row.Lease.Valid:
		return recorded, nil, storeToldMeanwhile(ctx, tx, row.ID, attempts, outcome) // that gateway decides what follows
	}
	changes, due, err := o.storeAttempt(ctx, tx, row, attempts, outcome)
	if err != nil {
		return recorded, nil, err
	}
	if err := addToFeed(ctx, tx, changes...); err != nil {
		return recorded, nil, err
	}
	recorded.Due = due
	if outcome.EndMonitor && m.status.Active() {
		if err := o.endByCallback(ctx, tx, m, d.ID, outcome.Attempt); err != nil {
			return recorded, nil, err
		}
		recorded.EndedMonitor = m.id
	}
	if health != nil {
		disabled, err = storeHealth(ctx, tx, *health, row.Now, outcome)
	}
	return recorded, disabled, err
}

// countAttempt counts an attempt at the delivery $1 in the present hour of its destination. $2
// is 1 if it was delivered, else 0.
const countAttempt = `
	WITH counted AS (
		INSERT INTO destination_hours AS h (destination_id, hour, delivered, failed)
		SELECT destination_id, date_trunc('hour', now(), 'UTC'), CAST($2 AS int), 1 - CAST($2 AS int) FROM deliveries WHERE id = $1 AND destination_id IS NOT NULL
		ON CONFLICT (destination_id, hour) DO UPDATE SET delivered = h.delivered + excluded.delivered, failed = h.failed + excluded.failed)`

// storeToldMeanwhile stores a message that was delivered after its lease had ended.
func storeToldMeanwhile(ctx context.Context, tx *sqlx.Tx, id, attempts string, o delivery.Outcome) error {
	told, err := encodeTold(o)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, countAttempt+`
		UPDATE deliveries SET attempts = CAST($3 AS jsonb), told = COALESCE(CAST($4 AS jsonb), told), delivered_at = now(), changed = true WHERE id = $1`,
		id, 1, attempts, told)
	return err
}

// encodeTold returns what a destination knows after an attempt; NULL: what it knew before.
func encodeTold(o delivery.Outcome) (sql.NullString, error) {
	if o.Notified == nil {
		return sql.NullString{}, nil
	}
	encoded, err := json.Marshal(o.Notified)
	if err != nil {
		return sql.NullString{}, fmt.Errorf("what was told: %w", err)
	}
	return nullText(monitor.SanitizeJSON(encoded)), nil
}

// storeAttempt stores an attempt, and what follows from it for the delivery and for the one behind it in its
// queue. The next lease of a thread decides what comes next in it. isDue is set if there is one of them.
func (o *Outbox) storeAttempt(ctx context.Context, tx *sqlx.Tx, r attemptedRow, attempts string, outcome delivery.Outcome) (changes []feedChange, isDue bool, err error) {
	told, err := encodeTold(outcome)
	if err != nil {
		return nil, false, err
	}
	state, due, newRound := "pending", sql.NullFloat64{Valid: true}, true
	switch {
	case !outcome.RetryAt.IsZero():
		due.Float64, newRound = max(time.Until(outcome.RetryAt), 0).Seconds(), false
	case r.Storm && outcome.Delivered:
		due.Float64 = notify.StormPause.Seconds()
	case r.Thread && (outcome.Delivered || r.Changed): // it is decided anew
	case outcome.Delivered:
		state, due = "delivered", sql.NullFloat64{}
	default:
		state, due = "failed", sql.NullFloat64{}
	}
	delivered, lastError := 0, storableText(outcome.Error)
	if outcome.Delivered {
		delivered, lastError = 1, ""
	}
	leaves := state != "pending" || outcome.LeavesQueue
	if _, err := tx.ExecContext(ctx, countAttempt+`
		UPDATE deliveries SET
			state = CAST($3 AS text), due_at = clock_timestamp() + make_interval(secs => CAST($4 AS float8)), lease = NULL,
			round_began_at = CASE WHEN $5 THEN COALESCE(clock_timestamp() + make_interval(secs => CAST($4 AS float8)), round_began_at) ELSE round_began_at END,
			tried = CASE WHEN $5 AND CAST($3 AS text) = 'pending' THEN 0 ELSE tried + 1 END,
			failing_since = CASE WHEN CAST($2 AS int) = 0 AND NOT $5 THEN COALESCE(failing_since, now()) END,
			attempts = CAST($6 AS jsonb), last_error = $7, told = COALESCE(CAST($8 AS jsonb), told),
			delivered_at = CASE WHEN CAST($2 AS int) = 1 THEN now() ELSE delivered_at END,
			changed = CAST($3 AS text) = 'pending' AND $5 AND event_id IS NULL,
			queue = CASE WHEN $9 THEN NULL ELSE queue END
		WHERE id = $1`, r.ID, delivered, state, due, newRound, attempts, lastError, told, leaves); err != nil {
		return nil, false, err
	}
	isDue = due.Valid || r.isCallbackOutOfQueue()
	if leaves && r.Queue.Valid {
		advanced, err := advanceQueues(ctx, tx, []string{r.Queue.String}, max(time.Until(outcome.NextAt), 0))
		if err != nil {
			return nil, false, err
		}
		isDue = isDue || len(advanced) > 0
	}
	if !r.DestinationID.Valid {
		changes, err = mirrorCallbacks(ctx, tx, []string{r.ID})
	}
	return changes, isDue, err
}

// advanceQueues makes the first deliveries of queues due after a pause, but for one that is being retried, and returns
// these queues. The transaction has locked the former first ones FOR UPDATE and taken them out of their queues.
func advanceQueues(ctx context.Context, tx *sqlx.Tx, queues []string, pause time.Duration) (advanced []string, err error) {
	err = tx.SelectContext(ctx, &advanced, `
		UPDATE deliveries SET due_at = now() + make_interval(secs => $2), round_began_at = now() + make_interval(secs => $2)
		WHERE lease IS NULL AND (tried = 0 OR due_at IS NULL) AND id = ANY (ARRAY(
			SELECT (SELECT x.id FROM deliveries x WHERE x.queue = q.name ORDER BY x.seq LIMIT 1) FROM unnest(CAST($1 AS text[])) AS q (name)))
		RETURNING queue`,
		pq.Array(queues), pause.Seconds())
	return advanced, err
}

// leaveQueues takes deliveries out of their queues that could not leave when they were made, because events were
// being added behind them. It makes the next ones due. It passes over those for which that is still so.
func (o *Outbox) leaveQueues(ctx context.Context) error {
	return o.db.inTx(ctx, "advance queues", func(tx *sqlx.Tx) error {
		var queues []string
		if err := tx.SelectContext(ctx, &queues, `
			WITH made AS (SELECT id, queue FROM deliveries WHERE `+yetToLeave+` ORDER BY id LIMIT 500 FOR UPDATE SKIP LOCKED),
			out AS (UPDATE deliveries SET queue = NULL WHERE id IN (SELECT id FROM made))
			SELECT queue FROM made`); err != nil || len(queues) == 0 {
			return err
		}
		_, err := advanceQueues(ctx, tx, queues, 0)
		return err
	})
}

// mirrorCallbacks stores in events what became of their deliveries to callbacks (section 9.1). It
// returns the changes of the feed.
func mirrorCallbacks(ctx context.Context, tx *sqlx.Tx, eventIDs []string) (changes []feedChange, err error) {
	_, err = tx.ExecContext(ctx, `
		UPDATE monitor_events e SET
			webhook_status = CASE x.state WHEN 'delivered' THEN 'sent' ELSE x.state END, webhook_attempts = x.tried,
			webhook_last_error = NULLIF(x.last_error, ''), sent_at = x.delivered_at
		FROM deliveries x WHERE e.id = ANY (CAST($1 AS uuid[])) AND x.id = e.id`, pq.Array(eventIDs))
	for _, id := range eventIDs {
		changes = append(changes, deliveryChange(id))
	}
	return changes, err
}

// lockToEnd locks a monitor that a delivery may end and, as reports do before they lock deliveries, its newest incident. That of
// a parked record may be unreadable, and is left alone.
func lockToEnd(ctx context.Context, tx *sqlx.Tx, id monitor.ID) (lockedMonitor, error) {
	m, err := lockMonitor(ctx, tx, id)
	if err != nil || m.parked || !m.status.Active() {
		return m, err
	}
	_, err = tx.ExecContext(ctx, `SELECT FROM incidents WHERE monitor_id = $1 ORDER BY seq DESC LIMIT 1 FOR UPDATE`, id)
	return m, err
}

// endByCallback ends a monitor that lockToEnd has locked, after its callback has failed for good (decision W4). It
// fails the events that it has yet to get.
func (o *Outbox) endByCallback(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, eventID string, a event.Attempt) error {
	var behind []string
	if err := tx.SelectContext(ctx, &behind, `
		UPDATE deliveries SET state = 'failed', last_error = $2, due_at = NULL, queue = NULL, lease = NULL
		WHERE monitor_id = $1 AND destination_id IS NULL AND state = 'pending' RETURNING id`,
		m.id, "not sent, because the monitor ended: its earlier event "+eventID+" could not be delivered: "+storableText(a.Error)); err != nil {
		return err
	}
	changes, err := mirrorCallbacks(ctx, tx, behind)
	if err != nil {
		return err
	}
	if err := addToFeed(ctx, tx, changes...); err != nil {
		return err
	}
	now := time.Now()
	if err := endMonitor(ctx, tx, m.id, monitor.Failed, event.ReasonCallbackFailed, now); err != nil {
		return err
	}
	return o.db.recordOrPark(ctx, tx, found{monitor: m, changed: true, ended: &incident.MonitorEnded{
		At: now, Failed: true, Alert: &incident.Alert{EventID: eventID, At: now, Reason: event.ReasonCallbackFailed, Detail: a.Error},
	}})
}

// knownSuccess is how long ago a destination took something that need not be stored again.
const knownSuccess = time.Second

// staysHealthy reports whether an outcome is one more success of a healthy destination. isKnown reports whether it
// changes nothing in its row: by a clock that differs from the database's it is stored again.
func (r destinationRow) staysHealthy(o delivery.Outcome) (stays, isKnown bool) {
	age := time.Since(r.DeliveredAt.Time)
	stays = o.Delivered && !o.EditedAndPushed && r.Failures == 0 && !r.FailingSince.Valid && !r.CircuitOpenUntil.Valid && r.LastError == ""
	return stays, stays && r.DeliveredAt.Valid && age >= 0 && age < knownSuccess
}

// storeHealth stores what an attempt says about a locked destination. It returns the notice that it is
// to be disabled; nil: it is not.
func storeHealth(ctx context.Context, tx *sqlx.Tx, d destinationRow, now time.Time, o delivery.Outcome) (*message.Notice, error) {
	secondRequests := 0
	if o.EditedAndPushed {
		secondRequests = 1
	}
	after := d.health().After(now, o.Class, o.Status, o.RetryAfter)
	lastError := storableText(o.Error)
	if _, err := tx.ExecContext(ctx, `
		UPDATE destinations SET failures = $2, failing_since = $3, circuit_open_until = $4, tokens = tokens - CAST($6 AS int),
			last_error = CASE WHEN CAST($5 AS text) = '' AND CAST($4 AS timestamptz) IS NOT NULL THEN last_error ELSE CAST($5 AS text) END,
			delivered_at = CASE WHEN CAST($5 AS text) = '' THEN now() ELSE delivered_at END
		WHERE id = $1`, d.ID, after.Failures, nullTime(after.FailingSince), nullTime(after.CircuitOpenUntil), lastError, secondRequests); err != nil {
		return nil, err
	}
	return noticeOf(d, after, now, o), nil
}

// noticeOf returns the notice that a destination is to be disabled; nil: it is not, or is already.
func noticeOf(d destinationRow, h notify.Health, now time.Time, o delivery.Outcome) *message.Notice {
	notice := &message.Notice{
		Destination: d.Name, Cause: message.FailedForDays, FailingSince: h.FailingSince.UTC(), LastError: storableText(o.Error), At: now.UTC(),
	}
	switch {
	case !d.Enabled:
		return nil
	case o.DisableDestination:
		notice.Cause = message.Gone
	case !h.FailedForDays(now):
		return nil
	}
	return notice
}

// health returns what a destination's row says about its health.
func (r destinationRow) health() notify.Health {
	return notify.Health{Failures: r.Failures, FailingSince: timeOrZero(r.FailingSince), CircuitOpenUntil: timeOrZero(r.CircuitOpenUntil)}
}

// disabledReason says for the log why a destination is disabled.
func disabledReason(n message.Notice) string {
	if n.Cause == message.Gone {
		return "it does not exist any more: " + n.LastError
	}
	return "every attempt has failed since " + n.FailingSince.Format(time.RFC3339)
}

// noticeTargets selects the destinations that are told that $1 is disabled, or that the login $1 is rejected. That is its
// fallback $2, or else the destinations of the default route, or else all. Each of them must
// be enabled and get messages, of which a webhook ($3) gets none.
const noticeTargets = `
	WITH able AS (
		SELECT id, CASE WHEN id = $2 THEN 1 WHEN id = ANY (SELECT unnest(destinations) FROM routes WHERE is_default) THEN 2 ELSE 3 END AS choice
		FROM destinations WHERE enabled AND id <> $1 AND kind <> $3)
	SELECT id FROM able WHERE choice = (SELECT min(choice) FROM able)`

// disableDestination disables a destination, unless it is already, and tells those of noticeTargets.
func disableDestination(ctx context.Context, tx *sqlx.Tx, id string, n message.Notice) error {
	var fallback []sql.NullString
	if err := tx.SelectContext(ctx, &fallback, `
		UPDATE destinations SET enabled = false, disabled_reason = $2, updated_at = now() WHERE id = $1 AND enabled RETURNING fallback`, id, n.Cause); err != nil || len(fallback) == 0 {
		return err
	}
	notice, err := json.Marshal(n)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO deliveries (id, destination_id, notice, state, due_at, created_at)
		SELECT gen_random_uuid(), id, CAST($4 AS jsonb), 'pending', now(), now() FROM (`+noticeTargets+`) AS told`,
		id, fallback[0], notify.Webhook, string(monitor.SanitizeJSON(notice)))
	return err
}

func storableText(text string) string { return monitor.StorableText(text, maxErrorText) }
