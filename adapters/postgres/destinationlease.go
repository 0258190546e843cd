package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery/destination"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// These conditions are about a row x of deliveries. A row that was planned in the future
// was planned before the database's clock was set back, and is due at once.
//
// Each condition allows 10 s more. now() is the start of the transaction, which may have
// waited for a lock meanwhile.
const (
	plannedAhead     = `x.planned_at > now() + interval '10 seconds'`
	deliveryIsDue    = `(x.due_at <= now() OR ` + plannedAhead + `)`
	pendingPlannedAt = `CASE WHEN x.state = 'pending' THEN x.planned_at END` // only idx_deliveries_ahead has it
	pendingAhead     = pendingPlannedAt + ` > now() + interval '10 seconds'`
	deliveryInFlight = `(x.lease IS NOT NULL AND x.leased_until > now())`
	eventBlocks      = `(x.blocks_until > now() AND x.blocks_until < now() + interval '70 seconds')` // it is set to 60 s
)

// someAhead is the condition of a destination d with a delivery that was planned in the future. The
// order makes the planner take the index. It expects many such deliveries, and would look for the
// first one in the whole table.
const someAhead = `(SELECT true FROM deliveries x WHERE x.destination_id = d.id AND ` + pendingAhead + `
	ORDER BY x.destination_id, ` + pendingPlannedAt + ` LIMIT 1)`

// pauses is the condition of a destination d that gets nothing before closed_until. A pause
// that was decided in the future was decided before the database's clock was set back, and is over.
var pauses = fmt.Sprintf(`(d.closed_until > now() AND d.closed_until < now() + make_interval(secs => %d)
	AND (d.paused_at > now() + interval '10 seconds') IS NOT TRUE)`, int((notify.MaxRetryAfter + 10*time.Second).Seconds()))

// allowance is what the rate limit l of a destination d allows at now(); NULL: it has none.
const allowance = `
	CASE WHEN d.tokens_at = '-infinity' OR d.tokens_at > now() + interval '10 seconds' THEN l.burst
	     ELSE LEAST(l.burst, d.tokens + GREATEST(EXTRACT(EPOCH FROM now() - d.tokens_at), 0) / l.interval_sec) END`

// queuedEvents finds the next event of each monitor at a destination r. It looks at the monitors
// with an ID greater than after for which the condition about q.monitor_id is true. The next
// event is the first of those that are due, in flight, or failing for less than a minute. It is
// taken if it is due and no event of its monitor is in flight.
//
// The query jumps from monitor to monitor in idx_deliveries_turns (destination_id,
// monitor_id, sequence), and goes no further when the caller has enough. In the queue of a
// monitor it passes over those that wait for a retry after a minute of failures. So it reads no
// backlog. It begins with after, which is no monitor and which OFFSET leaves out.
//
// Only what is pending has a due_at. By that, and not by the state, no other index fits. By old
// statistics another one looks as good, and would be read as a whole in each step.
func queuedEvents(after, condition string) string {
	return `
	SELECT x.id, x.due_at, x.monitor_id
	FROM (
		WITH RECURSIVE queue (monitor_id) AS (
			SELECT CAST(` + after + ` AS varchar)
			UNION ALL
			SELECT next.monitor_id
			FROM queue CROSS JOIN LATERAL (
				SELECT q.monitor_id FROM deliveries q
				WHERE q.due_at IS NOT NULL AND q.sequence IS NOT NULL AND q.destination_id = r.id AND q.monitor_id > queue.monitor_id AND ` + condition + `
				ORDER BY q.destination_id, q.monitor_id, q.sequence LIMIT 1) AS next)
		SELECT monitor_id FROM queue OFFSET 1) AS queues
	CROSS JOIN LATERAL (
		SELECT x.* FROM deliveries x
		WHERE x.due_at IS NOT NULL AND x.sequence IS NOT NULL AND x.destination_id = r.id AND x.monitor_id = queues.monitor_id
		  AND (` + deliveryIsDue + ` OR ` + deliveryInFlight + ` OR ` + eventBlocks + `)
		ORDER BY x.destination_id, x.monitor_id, x.sequence LIMIT 1) AS x
	WHERE ` + deliveryIsDue + ` AND COALESCE(queues.monitor_id <> ALL (r.monitors), true)`
}

// destinationLeaseQuery leases up to $1 due deliveries for $2 seconds under the lease ID
// $3. First it takes those leased under an ID in $4, because the answer to that call was lost.
// A destination has at most $5 in flight, and at most one after $6 failures in a row. It gets
// no more than the rate limit of its kind in $7 allows. Those in $8 get nothing from this
// gateway. The destinations take turns. So do the monitors at a destination: the first is the
// one behind last_monitor_id.
//
// The locks of destinations keep two gateways from leasing for one at the same time. A
// destination that may get nothing now is not locked. The statement sees the deliveries as they
// were when it began. So it passes over a destination whose row has changed since: another lease
// may have changed it, and its deliveries.
//
// The query reads as much as it leases, and no backlog, even by statistics from before that
// backlog. So it looks for leases in idx_deliveries_leased at one destination after the other,
// each with a condition and an order for which PostgreSQL takes the index. PostgreSQL does not
// read a subquery with a LIMIT as a whole.
var destinationLeaseQuery = `
	WITH leased AS MATERIALIZED (
		SELECT x.* FROM destinations d CROSS JOIN LATERAL (
			SELECT x.id, x.destination_id, x.monitor_id, x.lease, x.leased_until FROM deliveries x
			WHERE x.lease IS NOT NULL AND x.leased_until > now() AND x.destination_id >= d.id AND x.destination_id <= d.id
			ORDER BY x.destination_id LIMIT 100) AS x),
	shortened AS (
		UPDATE deliveries x SET leased_until = now() + make_interval(secs => $2)
		WHERE x.id = ANY (ARRAY(SELECT id FROM leased WHERE leased_until > now() + interval '130 seconds'))
		  AND x.lease IS NOT NULL AND x.lease <> ALL (CAST($4 AS uuid[])) AND x.leased_until > now() + interval '130 seconds'),
	regained AS MATERIALIZED (
		SELECT x.id FROM deliveries x
		WHERE x.id = ANY (ARRAY(SELECT id FROM leased WHERE lease = ANY (CAST($4 AS uuid[]))))
		  AND x.lease = ANY (CAST($4 AS uuid[])) AND x.leased_until > now() AND x.state IS NOT DISTINCT FROM 'pending'
		LIMIT $1
		FOR UPDATE OF x SKIP LOCKED),
	in_flight AS MATERIALIZED (
		SELECT destination_id, count(*) AS n, array_agg(monitor_id) FILTER (WHERE monitor_id IS NOT NULL) AS monitors
		FROM leased GROUP BY destination_id),
	ready AS MATERIALIZED (
		SELECT d.id, d.last_monitor_id, in_flight.monitors, may.tokens, may.slots
		FROM destinations d
		JOIN (SELECT id, xmin AS version FROM destinations) AS seen ON seen.id = d.id AND seen.version = d.xmin
		LEFT JOIN in_flight ON in_flight.destination_id = d.id
		LEFT JOIN json_to_recordset($7) AS l (kind text, burst int, interval_sec float8) ON l.kind = d.kind
		CROSS JOIN LATERAL (
			SELECT ` + allowance + ` AS tokens,
			       CASE WHEN d.failures >= $6 THEN 1 ELSE $5 END - COALESCE(in_flight.n, 0) AS slots) AS may
		WHERE d.enabled AND NOT COALESCE(` + pauses + `, false) AND d.id <> ALL (CAST($8 AS uuid[])) AND may.slots > 0 AND COALESCE(may.tokens >= 1, true)
		  AND ((SELECT true FROM deliveries x WHERE x.state = 'pending' AND x.destination_id = d.id AND x.due_at <= now()
		        ORDER BY x.destination_id, x.due_at LIMIT 1)
		       OR ` + someAhead + `)
		FOR NO KEY UPDATE OF d SKIP LOCKED),
	candidates AS (
		SELECT c.id, c.due_at, row_number() OVER (PARTITION BY r.id ORDER BY c.monitor_id <= r.last_monitor_id, c.monitor_id, c.due_at) AS place
		FROM (SELECT id, last_monitor_id, monitors, LEAST(slots, floor(tokens)) AS free FROM ready) AS r
		CROSS JOIN LATERAL (
			(SELECT x.id, x.due_at, NULL AS monitor_id FROM deliveries x
			 WHERE x.state = 'pending' AND x.sequence IS NULL AND x.destination_id = r.id AND x.due_at <= now() AND NOT ` + deliveryInFlight + `
			 ORDER BY x.due_at LIMIT $5)
			UNION ALL
			(SELECT x.id, now(), NULL FROM deliveries x
			 WHERE x.destination_id = r.id AND ` + pendingAhead + ` AND x.sequence IS NULL AND NOT ` + deliveryInFlight + `
			 ORDER BY ` + pendingPlannedAt + ` LIMIT $5)
			UNION ALL
			(` + queuedEvents("r.last_monitor_id", "true") + `)
			UNION ALL
			(` + queuedEvents("''", "q.monitor_id <= r.last_monitor_id") + `)
			LIMIT GREATEST(r.free, 0)) AS c
		ORDER BY place, c.due_at
		LIMIT $1 - (SELECT count(*) FROM regained)),
	taken AS MATERIALIZED (
		SELECT x.id, x.destination_id, CASE WHEN x.sequence IS NOT NULL THEN x.monitor_id END AS monitor_id FROM deliveries x
		WHERE x.id = ANY (ARRAY(SELECT id FROM candidates)) AND x.state IS NOT DISTINCT FROM 'pending'
		  AND ` + deliveryIsDue + ` AND NOT ` + deliveryInFlight + `
		FOR UPDATE OF x SKIP LOCKED),
	spent AS (
		UPDATE destinations d SET tokens = COALESCE(n.tokens - n.taken, 0), tokens_at = now(), last_monitor_id = COALESCE(n.wrapped, n.last, d.last_monitor_id)
		FROM (SELECT ready.id, ready.tokens, count(*) AS taken, max(taken.monitor_id) AS last,
		             max(taken.monitor_id) FILTER (WHERE taken.monitor_id <= ready.last_monitor_id) AS wrapped
		      FROM ready JOIN taken ON taken.destination_id = ready.id GROUP BY ready.id, ready.tokens) AS n
		WHERE d.id = n.id)
	UPDATE deliveries x SET lease = $3, leased_until = now() + make_interval(secs => $2), changed = false
	WHERE x.id = ANY (ARRAY(SELECT id FROM regained UNION SELECT id FROM taken))
	RETURNING x.id`

// rateLimits are the rate limits of all kinds, as JSON.
var rateLimits = func() string {
	type limit struct {
		Kind        notify.Kind `json:"kind"`
		Burst       int         `json:"burst"`
		IntervalSec float64     `json:"interval_sec"`
	}
	limits := []limit{}
	for _, c := range notify.Channels() {
		if c.RateLimit != (notify.RateLimit{}) {
			limits = append(limits, limit{c.Kind, c.RateLimit.Burst, c.RateLimit.Interval.Seconds()})
		}
	}
	encoded, err := json.Marshal(limits)
	if err != nil {
		panic(err) // they are numbers and texts
	}
	return string(encoded)
}()

// Lease implements destination.Outbox. The longest lease is 2 min.
func (o *DestinationOutbox) Lease(ctx context.Context, limit int, duration time.Duration) ([]destination.Delivery, error) {
	if duration > maxLease {
		return nil, fmt.Errorf("lease deliveries for %v: the longest lease is %v", duration, maxLease)
	}
	ctx = withPrepared(ctx)
	lost, err := o.db.routing.lostSecrets(ctx, o.db)
	if err != nil {
		return nil, wrapError(ctx, "lease deliveries to destinations", err)
	}
	var ids []string
	leaseID, err := o.unconfirmed.lease(duration, func(newID, unconfirmedIDs any) error {
		ids = nil
		return o.db.SelectContext(ctx, &ids, destinationLeaseQuery, limit, duration.Seconds(), newID, unconfirmedIDs,
			destination.MaxPerDestination, notify.CircuitFailures, rateLimits, pq.Array(lost))
	})
	if err != nil {
		return nil, wrapError(ctx, "lease deliveries to destinations", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	leased, err := o.readDeliveries(ctx, ids, leaseID)
	if err != nil {
		o.unconfirmed.add([]string{leaseID}, time.Now().Add(duration)) // the next call takes them again
		return nil, wrapError(ctx, "read leased deliveries", err)
	}
	return leased, nil
}

// NextDue implements destination.Outbox. A delivery that is due and was
// not leased waits for something else: a lease, a retry, a circuit or a rate limit.
func (o *DestinationOutbox) NextDue(ctx context.Context) (time.Time, error) {
	ctx = withPrepared(ctx)
	lost, err := o.db.routing.lostSecrets(ctx, o.db)
	if err != nil {
		return time.Time{}, wrapError(ctx, "find when the next delivery is due", err)
	}
	var wait sql.NullFloat64
	err = o.db.GetContext(ctx, &wait, `
		SELECT CAST(EXTRACT(EPOCH FROM min(next.at) - clock_timestamp()) AS float8)
		FROM destinations d
		LEFT JOIN json_to_recordset($1) AS l (kind text, burst int, interval_sec float8) ON l.kind = d.kind
		CROSS JOIN LATERAL (
			(SELECT x.due_at AS at FROM deliveries x
			 WHERE x.state = 'pending' AND x.destination_id = d.id AND x.due_at > now() ORDER BY x.due_at LIMIT 1)
			UNION ALL
			(SELECT LEAST(x.leased_until, now() + interval '2 minutes') FROM deliveries x
			 WHERE x.lease IS NOT NULL AND x.leased_until > now() AND x.destination_id >= d.id AND x.destination_id <= d.id
			 ORDER BY x.destination_id LIMIT 100)
			UNION ALL
			SELECT CASE WHEN `+pauses+` THEN d.closed_until
			            ELSE now() + make_interval(secs => GREATEST(1 - (`+allowance+`), 0) * l.interval_sec) END
			WHERE (`+pauses+` OR (`+allowance+`) < 1)
			  AND (SELECT true FROM deliveries x WHERE x.state = 'pending' AND x.destination_id = d.id AND x.due_at <= now()
			       ORDER BY x.destination_id, x.due_at LIMIT 1)
			UNION ALL
			SELECT now() WHERE `+someAhead+`
		) AS next
		WHERE d.enabled AND d.id <> ALL (CAST($2 AS uuid[]))`, rateLimits, pq.Array(lost))
	if err != nil || !wait.Valid {
		return time.Time{}, wrapError(ctx, "find when the next delivery is due", err)
	}
	return time.Now().Add(time.Duration(wait.Float64 * float64(time.Second))), nil
}

// TakeOverLeases does for deliveries what Outbox.TakeOverLeases does for events.
func (o *DestinationOutbox) TakeOverLeases(ctx context.Context, runtimeID string) error {
	first, last := o.unconfirmed.takeOver(runtimeID)
	_, err := o.db.ExecContext(ctx, `
		UPDATE deliveries SET leased_until = NULL, lease = NULL WHERE lease IS NOT NULL AND lease BETWEEN $1 AND $2`, first, last)
	return wrapError(ctx, "take over the leases of an earlier gateway", err)
}
