package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// nextEvents finds the events of every monitor that may be sent next. These are the head of
// its queue, and one of its due events on the long schedule (section 19.5). The queue of a monitor is its
// other pending events by seq, and its head is the event with the lowest seq.
//
// The query jumps from monitor to monitor in idx_monitor_events_heads (monitor_id,
// seq). So it reads one event of each queue, however long the queues are. ORDER BY
// names both columns, IS NOT DISTINCT FROM fits no other index, and the queries below use the
// events as an array. Otherwise the planner may read all pending events through another index.
const nextEvents = `
	WITH RECURSIVE head (id, monitor_id, seq) AS (
		(SELECT id, monitor_id, seq FROM monitor_events
		 WHERE webhook_status IS NOT DISTINCT FROM 'pending' AND NOT long_schedule
		 ORDER BY monitor_id, seq LIMIT 1)
		UNION ALL
		SELECT next.id, next.monitor_id, next.seq
		FROM head CROSS JOIN LATERAL (
			SELECT e.id, e.monitor_id, e.seq FROM monitor_events e
			WHERE e.webhook_status IS NOT DISTINCT FROM 'pending' AND NOT e.long_schedule AND e.monitor_id > head.monitor_id
			ORDER BY e.monitor_id, e.seq LIMIT 1) AS next),
	late (id, seq) AS (
		SELECT DISTINCT ON (e.monitor_id) e.id, e.seq FROM monitor_events e
		WHERE e.webhook_status = 'pending' AND e.long_schedule AND (e.next_attempt_at <= now() OR ` + retryBeyondChosen + `)
		  AND NOT EXISTS (SELECT FROM monitor_events other WHERE other.monitor_id = e.monitor_id AND other.webhook_status = 'pending'
		                  AND other.long_schedule AND other.leased_until > now() AND other.id <> e.id)
		ORDER BY e.monitor_id, e.seq),
	next (id, seq) AS (SELECT id, seq FROM head UNION ALL SELECT id, seq FROM late)`

// maxLease is the longest lease.
const maxLease = 2 * time.Minute

// These conditions detect that the database's clock was set back. A retry is then further
// away than the pause that was chosen for it, and a lease than the longest one (maxLease).
// Such a retry is due at once. Such a lease is shortened, not ended: its gateway may be
// sending the event.
//
// Each condition allows 10 s more. now() is the start of the transaction, which may have
// waited for a lock meanwhile.
const (
	retryBeyondChosen = `e.next_attempt_at > now() + make_interval(secs => e.retry_sec + 10)`
	leaseBeyondMax    = `e.leased_until > now() + interval '130 seconds'`
)

// leaseQuery leases up to $1 due events for $2 seconds under the lease ID $3. It also
// takes events leased under an ID in $4, because the answer to that call was lost.
//
// FOR UPDATE checks the conditions again on the locked row. So the query skips an
// event that another gateway has leased or finished meanwhile. Redeliver makes an
// event pending with a new seq; the join of due and next skips such an event.
//
// A shortened lease keeps its ID, so that its gateway can still record its attempt.
// IS NOT DISTINCT FROM is an equality for which the planner uses no index, unless the query also
// says NOT long_schedule.
const leaseQuery = nextEvents + leaseNext

// leaseNext leases the events of next; see leaseQuery.
const leaseNext = `,
	due AS (
		SELECT e.id, e.seq FROM monitor_events e
		WHERE e.id = ANY (ARRAY(SELECT id FROM next)) AND e.webhook_status IS NOT DISTINCT FROM 'pending'
		  AND (e.lease = ANY (CAST($4 AS uuid[])) OR (e.next_attempt_at <= now() OR ` + retryBeyondChosen + `)
		       AND (e.leased_until IS NULL OR e.leased_until <= now() OR ` + leaseBeyondMax + `))
		ORDER BY e.next_attempt_at, e.seq
		LIMIT $1
		FOR UPDATE OF e SKIP LOCKED)
	UPDATE monitor_events e
	SET leased_until = now() + make_interval(secs => $2),
	    lease = CASE WHEN ` + leaseBeyondMax + ` AND e.lease <> ALL (CAST($4 AS uuid[])) THEN e.lease ELSE $3 END
	FROM monitors m
	WHERE e.id = ANY (ARRAY(SELECT id FROM due JOIN next USING (id, seq))) AND m.id = e.monitor_id
	RETURNING e.id, e.event_type, e.monitor_id, m.callback_url, m.config->>'on_callback_failure' AS on_failure, e.body, e.webhook_attempts, e.seq, e.lease,
	          EXTRACT(EPOCH FROM clock_timestamp() - e.created_at) AS age`

type deliveryRow struct {
	ID          string         `db:"id"`
	EventType   string         `db:"event_type"`
	MonitorID   string         `db:"monitor_id"`
	CallbackURL string         `db:"callback_url"`
	OnFailure   sql.NullString `db:"on_failure"`
	Body        string         `db:"body"`
	Attempts    int            `db:"webhook_attempts"`
	Seq         int64          `db:"seq"`
	AgeSec      float64        `db:"age"`
	LeaseID     sql.NullString `db:"lease"`
}

// Outbox leases pending events and records the attempts at delivering them.
type Outbox struct {
	db          *database
	unconfirmed unconfirmedLeases
	heads       headList
	successes   groupQueue[*queuedSent]
}

// Lease implements callback.Outbox. The longest lease is 2 min.
//
// The query reads the head of every queue. So if there is more than the limit, the next calls
// take heads that one query has found for all of them. Otherwise the delivery of one event to
// each of M monitors would read M² heads.
func (o *Outbox) Lease(ctx context.Context, limit int, duration time.Duration) ([]callback.Delivery, error) {
	if duration > maxLease {
		return nil, fmt.Errorf("lease pending events for %v: the longest lease is %v", duration, maxLease)
	}
	leased, err := o.leaseFoundHeads(ctx, limit, duration)
	if free := limit - len(leased); err == nil && free > 0 {
		var more []callback.Delivery
		more, err = o.lease(ctx, duration, func(rows *[]deliveryRow, newID, unconfirmedIDs any) error {
			return o.db.SelectContext(ctx, rows, leaseQuery, free, duration.Seconds(), newID, unconfirmedIDs)
		})
		if len(more) == free {
			o.heads.expectMore()
		}
		leased = append(leased, more...)
	}
	if len(leased) > 0 {
		return leased, nil // the next call meets a failure again
	}
	return nil, err
}

// leaseFoundHeads leases heads that were found before, until it has leased so many or none is
// left. It finds heads at most once. Another gateway may have leased some of them.
func (o *Outbox) leaseFoundHeads(ctx context.Context, limit int, duration time.Duration) (leased []callback.Delivery, err error) {
	searched := false
	for len(leased) < limit && !o.unconfirmed.any() { // only leaseQuery finds the events of lost answers
		heads, err := o.heads.take(limit-len(leased), func() (found []head, err error) {
			if searched {
				return nil, nil
			}
			searched = true
			err = o.db.SelectContext(ctx, &found, findHeads, maxFoundHeads)
			return found, err
		})
		if err != nil {
			return leased, wrapError(ctx, "find pending events", err)
		}
		if len(heads) == 0 {
			break
		}
		ids, seqs := idsAndSeqs(heads)
		more, err := o.lease(ctx, duration, func(rows *[]deliveryRow, newID, unconfirmedIDs any) error {
			return o.db.SelectContext(ctx, rows, leaseHeads, len(heads), duration.Seconds(), newID, unconfirmedIDs, ids, seqs)
		})
		if err != nil {
			return leased, err
		}
		leased = append(leased, more...)
	}
	return leased, nil
}

// lease returns what a query has leased, in the order in which the events were stored.
func (o *Outbox) lease(ctx context.Context, duration time.Duration, query func(rows *[]deliveryRow, newID, unconfirmedIDs any) error) ([]callback.Delivery, error) {
	var rows []deliveryRow
	leaseID, err := o.unconfirmed.lease(duration, func(newID, unconfirmedIDs any) error {
		return query(&rows, newID, unconfirmedIDs)
	})
	if err != nil {
		return nil, wrapError(ctx, "lease pending events", err)
	}
	// The query also returns the leases that it has only shortened.
	rows = slices.DeleteFunc(rows, func(r deliveryRow) bool { return r.LeaseID.String != leaseID })
	slices.SortFunc(rows, func(a, b deliveryRow) int { return cmp.Compare(a.Seq, b.Seq) })
	leased := make([]callback.Delivery, 0, len(rows))
	for _, r := range rows {
		leased = append(leased, callback.Delivery{
			EventID:     r.ID,
			EventType:   event.Type(r.EventType),
			MonitorID:   monitor.ID(r.MonitorID),
			CallbackURL: monitor.CallbackURL(r.CallbackURL),
			Body:        []byte(r.Body),
			Attempts:    r.Attempts,
			OnFailure:   monitor.CallbackFailure(r.OnFailure.String),
			Age:         time.Duration(r.AgeSec * float64(time.Second)),
			LeaseID:     leaseID,
		})
	}
	return leased, nil
}

// NextDue implements callback.Outbox. A leased head is due when its lease expires, because
// its gateway may die, and another one must lease the head then.
func (o *Outbox) NextDue(ctx context.Context) (time.Time, error) {
	var wait sql.NullFloat64
	err := o.db.GetContext(ctx, &wait, nextEvents+`
		SELECT CAST(EXTRACT(EPOCH FROM min(GREATEST(
			CASE WHEN `+retryBeyondChosen+` THEN now() ELSE e.next_attempt_at END,
			CASE WHEN `+leaseBeyondMax+` THEN now() ELSE e.leased_until END)) - clock_timestamp()) AS float8)
		FROM monitor_events e
		WHERE e.id = ANY (ARRAY(SELECT id FROM head)) OR e.webhook_status = 'pending' AND e.long_schedule`)
	if err != nil || !wait.Valid {
		return time.Time{}, wrapError(ctx, "find when the next event is due", err)
	}
	return time.Now().Add(time.Duration(wait.Float64 * float64(time.Second))), nil
}

// TakeOverLeases ends the leases of an earlier gateway with the same runtime ID: a
// gateway keeps its runtime ID when it is restarted. The leased events become due at
// once, not when their leases expire. Call it before the first Lease, and only if no
// other running gateway has this ID. It may be repeated.
func (o *Outbox) TakeOverLeases(ctx context.Context, runtimeID string) error {
	first, last := o.unconfirmed.takeOver(runtimeID)
	_, err := o.db.ExecContext(ctx, `
		UPDATE monitor_events SET leased_until = NULL, lease = NULL
		WHERE webhook_status = 'pending' AND lease BETWEEN $1 AND $2`, first, last)
	return wrapError(ctx, "take over the leases of an earlier gateway", err)
}
