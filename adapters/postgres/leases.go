package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// queueHeads finds the head of every monitor's queue. It uses
// idx_monitor_events_queue to jump from monitor to monitor. Its cost therefore
// depends on the number of monitors with pending events, not on that of events. It
// sorts by the whole key of that index and is joined as an array, because the
// planner would otherwise read a backlog through another index.
const queueHeads = `
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

// maxLease is the longest lease.
const maxLease = 2 * time.Minute

// A time further in the future than any statement can set it was stored before
// the clock was set back. Such a retry is due: it can be 60 s away at most
// (delivery.MaxRetryAfter). Such a lease may belong to a gateway that is sending,
// so it is cut to a whole lease from now. Both conditions have a margin of 10 s,
// because now() is older in a statement that had to wait.
const (
	retryTooFar = `e.next_attempt_at > now() + interval '70 seconds'`
	leaseTooFar = `e.leased_until > now() + interval '130 seconds'`
)

// leaseQuery leases due heads. FOR UPDATE checks the conditions again after
// locking, so an event that another gateway leased or finished meanwhile is
// skipped. An event that was sent and then redelivered meanwhile is pending again,
// but no longer with the seq of the head, and is skipped as well. IS NOT DISTINCT
// FROM is an equality for which the planner uses no index.
//
// Events leased under a name in $4, in a call whose answer was lost, are leased
// again under the new name $3. Leases that are cut keep their name.
const leaseQuery = queueHeads + `,
	due AS (
		SELECT e.id, e.seq FROM monitor_events e
		WHERE e.id = ANY (ARRAY(SELECT id FROM head)) AND e.webhook_status IS NOT DISTINCT FROM 'pending'
		  AND (e.lease = ANY (CAST($4 AS uuid[])) OR (e.next_attempt_at <= now() OR ` + retryTooFar + `)
		       AND (e.leased_until IS NULL OR e.leased_until <= now() OR ` + leaseTooFar + `))
		ORDER BY e.next_attempt_at, e.seq
		LIMIT $1
		FOR UPDATE OF e SKIP LOCKED)
	UPDATE monitor_events e
	SET leased_until = now() + make_interval(secs => $2),
	    lease = CASE WHEN ` + leaseTooFar + ` AND e.lease <> ALL (CAST($4 AS uuid[])) THEN e.lease ELSE $3 END
	FROM monitors m
	WHERE e.id = ANY (ARRAY(SELECT id FROM due JOIN head USING (id, seq))) AND m.id = e.monitor_id
	RETURNING e.id, e.event_type, e.monitor_id, m.callback_url, e.body, e.webhook_attempts, e.seq, e.lease`

type deliveryRow struct {
	ID          string         `db:"id"`
	EventType   string         `db:"event_type"`
	MonitorID   string         `db:"monitor_id"`
	CallbackURL string         `db:"callback_url"`
	Body        string         `db:"body"`
	Attempts    int            `db:"webhook_attempts"`
	Seq         int64          `db:"seq"`
	Lease       sql.NullString `db:"lease"`
}

// Outbox leases pending events and records the attempts at delivering them.
type Outbox struct {
	db     *database
	leases unconfirmedLeases
}

// Lease implements delivery.Outbox. The longest lease is 2 min.
func (o *Outbox) Lease(ctx context.Context, limit int, duration time.Duration) ([]delivery.Delivery, error) {
	if duration > maxLease {
		return nil, fmt.Errorf("lease pending events for %v: the longest lease is %v", duration, maxLease)
	}
	began := time.Now()
	names := o.leases.beginCall()
	var rows []deliveryRow
	err := o.db.SelectContext(ctx, &rows, leaseQuery, limit, duration.Seconds(), newNameArg{names}, unconfirmedArg{names})
	if err != nil {
		o.leases.add(names.sent, time.Now().Add(duration))
		return nil, wrapError(ctx, "lease pending events", err)
	}
	last := len(names.sent) - 1
	name, unanswered := names.sent[last], names.sent[:last]
	if len(unanswered) > 0 {
		o.leases.add(unanswered, time.Now().Add(duration))
	}
	o.leases.confirm(began)
	rows = slices.DeleteFunc(rows, func(r deliveryRow) bool { return r.Lease.String != name })
	slices.SortFunc(rows, func(a, b deliveryRow) int { return cmp.Compare(a.Seq, b.Seq) })
	leased := make([]delivery.Delivery, 0, len(rows))
	for _, r := range rows {
		leased = append(leased, delivery.Delivery{
			EventID:     r.ID,
			EventType:   event.Type(r.EventType),
			MonitorID:   monitor.ID(r.MonitorID),
			CallbackURL: monitor.CallbackURL(r.CallbackURL),
			Body:        []byte(r.Body),
			Attempts:    r.Attempts,
			Lease:       name,
		})
	}
	return leased, nil
}

// NextDue implements delivery.Outbox. A leased head is due when its lease expires:
// if its gateway dies, it can be leased then.
func (o *Outbox) NextDue(ctx context.Context) (time.Time, error) {
	var wait sql.NullFloat64
	err := o.db.GetContext(ctx, &wait, queueHeads+`
		SELECT CAST(EXTRACT(EPOCH FROM min(GREATEST(
			CASE WHEN `+retryTooFar+` THEN now() ELSE e.next_attempt_at END,
			CASE WHEN `+leaseTooFar+` THEN now() ELSE e.leased_until END)) - clock_timestamp()) AS float8)
		FROM monitor_events e WHERE e.id = ANY (ARRAY(SELECT id FROM head))`)
	if err != nil || !wait.Valid {
		return time.Time{}, wrapError(ctx, "find when the next event is due", err)
	}
	return time.Now().Add(time.Duration(wait.Float64 * float64(time.Second))), nil
}

// TakeOverLeases ends the leases of an earlier gateway with the same runtime id. Its
// deliveries become due at once instead of when the leases expire. Call it before the first Lease, and only if no other gateway has this
// id. It may be repeated.
func (o *Outbox) TakeOverLeases(ctx context.Context, runtimeID string) error {
	sum := sha256.Sum256([]byte(runtimeID))
	prefix := namePrefix(sum[:len(namePrefix{})])
	first, last := uuid.UUID{}, uuid.Max
	copy(first[:], prefix[:])
	copy(last[:], prefix[:])
	o.leases.setPrefix(prefix)
	_, err := o.db.ExecContext(ctx, `
		UPDATE monitor_events SET leased_until = NULL, lease = NULL
		WHERE webhook_status = 'pending' AND lease BETWEEN $1 AND $2`, first, last)
	return wrapError(ctx, "take over the leases of an earlier gateway", err)
}
