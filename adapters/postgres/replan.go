package postgres

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// replanEvery is how often missing threads are added without a change of the routing. fanOut
// had to leave them out, or read the routing just before it was changed.
const replanEvery = time.Minute

// ReplanOpenIncidents makes the threads of all open incidents and storms due after a change
// of destinations, routes or silences, and adds those that are missing. Without a change
// it only adds, once a minute. It locks no incidents. Several gateways may call it at once.
func (o *DestinationOutbox) ReplanOpenIncidents(ctx context.Context) error {
	return o.db.inTx(ctx, "plan the messages about open incidents", func(tx *sqlx.Tx) error {
		var last struct {
			Version int64     `db:"planned_version"`
			Due     bool      `db:"due"`
			Now     time.Time `db:"now"`
		}
		routing, err := o.db.routing(ctx, tx)
		if err != nil {
			return err
		}
		err = tx.GetContext(ctx, &last, `
			SELECT planned_version, planned_at < now() - make_interval(secs => $1) OR planned_at > now() AS due, clock_timestamp() AS now FROM routing_version`,
			replanEvery.Seconds())
		if err != nil || last.Version == routing.Version && !last.Due {
			return err
		}
		incidents, err := o.db.readTold(ctx, tx, `i.state = '`+string(incident.Open)+`'`)
		if err != nil {
			return err
		}
		f := fanOut{routing: routing}
		for _, i := range incidents {
			f.addThreads(i, last.Now)
		}
		if last.Version == routing.Version {
			f.incidents, f.storms = nil, nil
		}
		if err := f.store(ctx, tx); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE routing_version SET planned_version = $1, planned_at = now()`, routing.Version)
		return err
	})
}
