package postgres

import (
	"context"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery/destination"
)

// queuedSuccess is a success that is to be stored.
type queuedSuccess struct {
	queueItem

	delivery destination.Delivery
	outcome  destination.Outcome
}

// mayShare reports whether an outcome may be stored with others: that of an event or a
// notice that was delivered. For a thread more than its success is stored.
func mayShare(o destination.Outcome) bool {
	return o.Attempt != nil && o.Delivered && !o.DisableDestination && o.Notified == nil && o.DueAt.IsZero()
}

// successRow is a delivery that was made.
type successRow struct {
	ID       string `json:"id"`
	Attempts string `json:"attempts"`
}

// storeSuccesses stores deliveries $1 that were made, and counts them in the present hours of
// their destinations. It takes the rows of hours in the order of their destinations.
const storeSuccesses = `
	WITH made AS (
		UPDATE deliveries x SET
			state = 'delivered', due_at = NULL, planned_at = now(), tried = x.tried + 1, blocks_until = NULL, attempts = CAST(n.attempts AS jsonb),
			last_error = '', delivered_at = now(), changed = false, leased_until = NULL, lease = NULL
		FROM (SELECT * FROM json_to_recordset($1) AS rows (id uuid, attempts text) LIMIT $2) AS n WHERE x.id = n.id
		RETURNING x.destination_id)
	INSERT INTO destination_hours AS h (destination_id, hour, delivered, failed)
	SELECT destination_id, date_trunc('hour', now(), 'UTC'), count(*), 0 FROM made GROUP BY destination_id ORDER BY destination_id
	ON CONFLICT (destination_id, hour) DO UPDATE SET delivered = h.delivered + excluded.delivered`

// storeSuccessGroup stores successes in one transaction, and sets which of them are to be
// stored alone. These are all if the server has refused anything. Else they are those that
// change more than their own rows, or that another transaction has locked.
func (o *DestinationOutbox) storeSuccessGroup(ctx context.Context, group []*queuedSuccess) {
	byID := map[string]*queuedSuccess{}
	deliveryIDs, destinationIDs := make([]string, 0, len(group)), make([]string, 0, len(group))
	for _, s := range group {
		byID[s.delivery.ID], s.alone = s, true
		deliveryIDs, destinationIDs = append(deliveryIDs, s.delivery.ID), append(destinationIDs, s.delivery.Destination.ID)
	}
	var stored []*queuedSuccess
	err := o.db.runTx(ctx, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, groupLockTimeout); err != nil {
			return err
		}
		var destinations []destinationRow
		if err := tx.SelectContext(ctx, &destinations, selectDestinations+` AND id = ANY (CAST($1 AS uuid[]))`, pq.Array(destinationIDs)); err != nil {
			return err
		}
		healthy := map[string]destinationRow{}
		for _, d := range destinations {
			healthy[d.ID] = d
		}
		var deliveries []recordedDelivery
		if err := tx.SelectContext(ctx, &deliveries, selectRecorded+` WHERE id = ANY (CAST($1 AS uuid[])) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`, pq.Array(deliveryIDs)); err != nil {
			return err
		}
		rows := make([]successRow, 0, len(deliveries))
		for _, d := range deliveries {
			s := byID[d.ID]
			attempts, repeated, err := d.with(*s.outcome.Attempt)
			if err != nil || repeated || d.Thread || d.Lease.String != s.delivery.LeaseID || !healthy[d.DestinationID].knows(s.outcome) {
				continue
			}
			rows, stored = append(rows, successRow{d.ID, attempts}), append(stored, s)
		}
		return execRows(ctx, tx, storeSuccesses, rows)
	})
	if err != nil {
		return
	}
	for _, s := range stored {
		s.alone = false
	}
}
