package postgres

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Outbox leases deliveries and records what came of them.
type Outbox struct {
	db        *database
	opinions  notify.OpinionPower
	gateway   atomic.Pointer[string] // the runtime ID of this gateway; nil: it has none
	successes groupQueue[*queuedSuccess]
}

// newLease names a lease of this gateway.
func (o *Outbox) newLease() string {
	lease := uuid.NewString()
	if gateway := o.gateway.Load(); gateway != nil {
		lease = *gateway + " " + lease
	}
	return lease
}

// TakeOverLeases ends the leases of an earlier gateway with the same runtime ID, which a gateway
// keeps when it is restarted. Their deliveries are due at once. Call it before the first
// Lease, and only if no other running gateway has this ID. It may be repeated.
func (o *Outbox) TakeOverLeases(ctx context.Context, runtimeID string) error {
	o.gateway.Store(&runtimeID)
	_, err := o.db.ExecContext(ctx, `
		UPDATE deliveries SET due_at = now() WHERE lease IS NOT NULL AND starts_with(lease, $1 || ' ')`, runtimeID)
	return wrapError(ctx, "take over the leases of an earlier gateway", err)
}

// inFlight is the condition of a row x of deliveries that a gateway is sending.
const inFlight = `(x.lease IS NOT NULL AND x.due_at > now())`

// leaseTimeout limits each of the steps of Lease: it asks what waits, routes incidents, leases deliveries, and reads what has
// changed since. Without time of its own the last would leave what a slow lease has taken until the lease ends.
const leaseTimeout = 3 * time.Second

// Lease implements delivery.Outbox. It leases the oldest deliveries that are due: of each destination the few
// that may be sent there now, and then callbacks.
func (o *Outbox) Lease(ctx context.Context, limit int, duration time.Duration) (delivery.Leased, error) {
	ctx = withPrepared(ctx)
	w, err := o.readWaiting(ctx)
	if err != nil {
		return delivery.Leased{}, wrapError(ctx, "read what waits to be delivered", err)
	}
	unrouted, err := o.routeIncidents(ctx, &w) // what is opened together may be one storm
	if err != nil && ctx.Err() == nil {
		o.db.log.Warn("cannot route the incidents that have changed, will try again", "error", err.Error())
	}
	limited, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	if w.YetToLeave {
		if err := o.leaveQueues(limited); err != nil {
			return delivery.Leased{}, wrapError(limited, "advance queues", err)
		}
	}
	var due []*readyDestination
	if !unrouted {
		due, err = readReady(limited, o.db, w.routing, slices.Collect(maps.Keys(w.routing.Destinations)))
		if err != nil {
			return delivery.Leased{}, wrapError(limited, "read which destinations may get something", err)
		}
	}
	l := lease{db: o.db, routing: w.routing, name: o.newLease(), duration: duration, limit: limit, opinions: o.opinions}
	var ready []string
	for _, d := range due {
		if d.free > 0 || d.Changed {
			ready = append(ready, d.ID)
		}
	}
	if len(ready) > 0 || w.Callbacks || w.YetToLeave {
		if err := o.db.inTx(limited, "lease deliveries", func(tx *sqlx.Tx) error { return l.take(limited, tx, ready) }); err != nil {
			return delivery.Leased{}, err
		}
	}
	told, err := l.leaveOutdated(ctx)
	if err != nil {
		return delivery.Leased{}, wrapError(ctx, "read what has changed since", err)
	}
	next, waits := l.next(due, w)
	return delivery.Leased{Deliveries: told, More: unrouted || l.more || len(told) < len(l.leased), Waits: waits, NextAt: next}, nil
}

// waiting says what waits for a lease.
type waiting struct {
	Version        int64           `db:"version"`         // of the routing
	RoutingChanged bool            `db:"routing_changed"` // all open incidents are to be routed: people have changed the routing, or time has
	Unrouted       bool            `db:"unrouted"`        // some incidents are
	YetToLeave     bool            `db:"yet_to_leave"`    // deliveries have yet to leave their queues
	Callbacks      bool            `db:"callbacks"`       // some are due
	NextInSec      sql.NullFloat64 `db:"next_in"`         // when something becomes due that is not; NULL: nothing does
	Now            time.Time       `db:"now"`

	routing notify.Routing
	locked  bool // incidents could not be routed, because they are being changed: they are looked at again soon
}

// yetToLeave is the condition of a delivery that could not leave its queue when it was made, because an event was being
// added behind it.
const yetToLeave = `queue IS NOT NULL AND state <> 'pending'`

// readWaiting asks in one statement for all that may be done: mostly there is little. The first of an order is read by an
// index whatever the statistics say, while EXISTS may read all deliveries.
func (o *Outbox) readWaiting(ctx context.Context) (w waiting, err error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	if err := o.db.GetContext(ctx, &w, `
		SELECT version, clock_timestamp() AS now, routed_version <> version OR COALESCE(changes_at <= now(), false) AS routing_changed,
		       (SELECT id FROM incidents WHERE unrouted > 0 ORDER BY id LIMIT 1) IS NOT NULL AS unrouted,
		       (SELECT id FROM deliveries WHERE `+yetToLeave+` ORDER BY id LIMIT 1) IS NOT NULL AS yet_to_leave,
		       COALESCE((SELECT min(due_at) FROM deliveries WHERE destination_id IS NULL) <= now(), false) AS callbacks,
		       CAST(EXTRACT(EPOCH FROM LEAST(CASE WHEN changes_at > now() THEN changes_at END,
		           (SELECT min(due_at) FROM deliveries WHERE destination_id IS NULL AND due_at > now()),
		           (SELECT min((SELECT min(x.due_at) FROM deliveries x WHERE x.destination_id = d.id AND x.due_at > now()))
		            FROM destinations d WHERE d.enabled)) - clock_timestamp()) AS float8) AS next_in
		FROM routing_version`); err != nil {
		return w, err
	}
	w.routing, err = o.db.routing.of(ctx, o.db, w.Version)
	return w, err
}

// next returns when something is due that is not now; zero: it is not known. waits is set if more may be due when a delivery ends.
func (l *lease) next(due []*readyDestination, w waiting) (at time.Time, waits bool) {
	var all []time.Duration
	if w.NextInSec.Valid {
		all = append(all, time.Duration(w.NextInSec.Float64*float64(time.Second)))
	}
	if waits = l.waits || w.locked; w.locked {
		all = append(all, 0)
	}
	for _, d := range due {
		switch {
		case !d.opensAt.IsZero():
			all = append(all, max(d.opensAt.Sub(d.Now), time.Millisecond))
		case d.free == 0:
			waits = true
		}
	}
	for _, d := range l.decided {
		if d.At != nil {
			all = append(all, d.At.Sub(l.now))
		}
	}
	if len(l.leased) > 0 {
		all = append(all, l.duration)
	}
	if len(all) == 0 {
		return at, waits
	}
	return time.Now().Add(slices.Min(all)), waits
}

// placeDue takes the due_at of those of the deliveries $1, which the transaction has locked, that are behind
// others in their queues, and returns their IDs. It keeps the first of such a queue from leaving until the transaction ends,
// as insertDeliveries does: whatever leaves later makes the next one due. Behind one that is just leaving nothing is
// placed: it stays due for the next lease.
const placeDue = `
	WITH behind AS (
		SELECT x.id FROM deliveries x CROSS JOIN LATERAL (
			SELECT held.seq FROM deliveries held WHERE held.queue = x.queue ORDER BY held.seq LIMIT 1 FOR KEY SHARE SKIP LOCKED) AS first
		WHERE x.id = ANY (CAST($1 AS uuid[])) AND first.seq < x.seq)
	UPDATE deliveries SET due_at = NULL WHERE id IN (SELECT id FROM behind) RETURNING id`

// mayBeSent is the condition of a delivery x that is due, and behind no other one in its queue.
const mayBeSent = `x.due_at IS NOT NULL AND (x.queue IS NULL OR (SELECT first.seq FROM deliveries first WHERE first.queue = x.queue ORDER BY first.seq LIMIT 1) = x.seq)`

// callbackOutOfQueue is the condition of a delivery to a callback for which no other waits, and which is due at some time.
const callbackOutOfQueue = `destination_id IS NULL AND queue IS NULL AND due_at IS NOT NULL`

// lockDueCallbacks locks up to $1 due deliveries to callbacks for which others may wait. It locks up to half as many
// for which none does: these are older, and must not fill a lease. Each callback gets its first of them, and one at a time. The walk goes from callback to callback, so that it reads as much
// however many of them one callback has.
const lockDueCallbacks = `
	SELECT id FROM (
		SELECT id FROM deliveries WHERE destination_id IS NULL AND queue IS NOT NULL AND due_at <= now()
		ORDER BY due_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED) AS queued
	UNION ALL
	SELECT id FROM (
		WITH RECURSIVE late (monitor_id) AS (
			(SELECT monitor_id FROM deliveries WHERE ` + callbackOutOfQueue + ` ORDER BY monitor_id LIMIT 1)
			UNION ALL
			SELECT (SELECT monitor_id FROM deliveries WHERE ` + callbackOutOfQueue + ` AND monitor_id > late.monitor_id ORDER BY monitor_id LIMIT 1)
			FROM late WHERE late.monitor_id IS NOT NULL)
		SELECT x.id FROM late CROSS JOIN LATERAL (
			SELECT id FROM deliveries WHERE ` + callbackOutOfQueue + ` AND monitor_id = late.monitor_id ORDER BY due_at, id LIMIT 1) AS first
		JOIN deliveries x ON x.id = first.id AND x.due_at <= now()
		WHERE late.monitor_id NOT IN (SELECT monitor_id FROM deliveries WHERE destination_id IS NULL AND queue IS NULL AND lease IS NOT NULL AND due_at > now())
		ORDER BY x.due_at LIMIT ($1 + 1) / 2 FOR NO KEY UPDATE OF x SKIP LOCKED) AS late`
