package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// replanEvery is how often missing threads are added without a change of the routing. fanOut
// had to leave them out, or read the routing just before it was changed.
const replanEvery = time.Minute

// wakeMissedEnds resolves the open storms without open incidents, and makes the threads due
// whose end is not told. fanOut had to leave that out. Subqueries find an incident by its id; a
// join may read all of them.
const wakeMissedEnds = `
	WITH over AS (
		UPDATE storms s SET state = 'resolved', resolved_at = now(), updated_at = now()
		WHERE s.state = 'open' AND NOT EXISTS (SELECT FROM incidents i WHERE i.storm_id = s.id AND i.state = 'open')
		RETURNING s.id),
	missed AS (
		SELECT x.id FROM deliveries x
		WHERE x.told ->> 'open' = 'true' AND ((SELECT state FROM incidents i WHERE i.id = x.incident_id) = 'resolved'
		       OR x.storm_id IS NOT NULL AND ((SELECT state FROM storms s WHERE s.id = x.storm_id) = 'resolved' OR x.storm_id IN (SELECT id FROM over)))
		  AND x.state <> 'failed' AND (x.due_at IS NULL OR x.due_at > now()) AND NOT ` + isInFlightOrRetried + `
		FOR NO KEY UPDATE OF x SKIP LOCKED)
	UPDATE deliveries SET ` + newRound + `
	WHERE id IN (SELECT id FROM missed)`

// ReplanOpenIncidents makes the threads of open incidents that have something to tell, and those
// of storms, due after a change of destinations, routes or silences. It adds those that are
// missing. Without a change it only adds, once a minute, threads, ends, events and storms that
// were left out. It locks no incidents but those of such a storm. Several gateways may call it at once.
func (o *DestinationOutbox) ReplanOpenIncidents(ctx context.Context) error {
	due, err := o.replanThreads(ctx)
	if due {
		err = errors.Join(err, o.addMissedEvents(ctx), o.gatherUncounted(ctx))
	}
	return err
}

// replanThreads plans the threads. due reports whether it was done.
func (o *DestinationOutbox) replanThreads(ctx context.Context) (due bool, err error) {
	err = o.db.inTx(ctx, "plan the messages about open incidents", func(tx *sqlx.Tx) error {
		due = false
		var last struct {
			Version int64     `db:"planned_version"`
			Due     bool      `db:"due"`
			Now     time.Time `db:"now"`
		}
		routing, err := o.db.routing.current(ctx, tx)
		if err != nil {
			return err
		}
		err = tx.GetContext(ctx, &last, `
			SELECT planned_version, planned_at < now() - make_interval(secs => $1) OR planned_at > now() AS due, clock_timestamp() AS now FROM routing_version`,
			replanEvery.Seconds())
		if err != nil || last.Version == routing.Version && !last.Due {
			return err
		}
		due = true
		if _, err := tx.ExecContext(ctx, wakeMissedEnds); err != nil {
			return err
		}
		incidents, err := o.db.readRoutedIncidents(ctx, tx, `i.state = '`+string(incident.Open)+`'`)
		if err != nil {
			return err
		}
		threads, err := readThreads(ctx, tx, incidents)
		if err != nil {
			return err
		}
		storms, err := o.db.stormsOf(ctx, tx, incidents)
		if err != nil {
			return err
		}
		batch := deliveryBatch{routing: routing, openStorms: storms}
		p := newThreadPlan(routing, last.Now, incidents, storms)
		for _, i := range incidents {
			batch.addThreads(i, last.Now)
		}
		batch.rows, batch.incidents = p.missing(batch.rows, threads), nil
		if last.Version == routing.Version {
			batch.storms = nil
		} else {
			p.wake(threads)
		}
		if err := batch.store(ctx, tx); err != nil {
			return err
		}
		if err := p.store(ctx, tx); err != nil {
			return err
		}
		if err := wakeDestinations(ctx, tx); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE routing_version SET planned_version = $1, planned_at = now()`, routing.Version)
		return err
	})
	return due, err
}
