package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery"
)

// queuedSuccess is a success that is to be stored.
type queuedSuccess struct {
	queueItem

	delivery delivery.Delivery
	outcome  delivery.Outcome
	recorded delivery.Recorded
}

// successRow is a delivery that was made.
type successRow struct {
	ID       string `json:"id"`
	Attempts string `json:"attempts"`
	Leaves   bool   `json:"leaves"` // its queue
}

// storeSuccesses stores deliveries $1 that were made, and counts them in the present hours of
// their destinations. It takes the rows of hours in the order of their destinations.
const storeSuccesses = `
	WITH made AS (
		UPDATE deliveries x SET
			state = 'delivered', due_at = NULL, queue = CASE WHEN n.leaves THEN NULL ELSE x.queue END, lease = NULL, tried = x.tried + 1, failing_since = NULL,
			attempts = CAST(n.attempts AS jsonb), last_error = '', delivered_at = now()
		FROM (SELECT * FROM json_to_recordset($1) AS rows (id uuid, attempts text, leaves bool) LIMIT $2) AS n WHERE x.id = n.id
		RETURNING x.destination_id)
	INSERT INTO destination_hours AS h (destination_id, hour, delivered, failed)
	SELECT destination_id, date_trunc('hour', now(), 'UTC'), count(*), 0 FROM made WHERE destination_id IS NOT NULL GROUP BY destination_id ORDER BY destination_id
	ON CONFLICT (destination_id, hour) DO UPDATE SET delivered = h.delivered + excluded.delivered`

// recordSuccesses stores successes. It leaves out those that change more than their own rows, or that another
// transaction has locked.
func (o *Outbox) recordSuccesses(ctx context.Context, tx *sqlx.Tx, group []*queuedSuccess) (stored []*queuedSuccess, err error) {
	byID := map[string]*queuedSuccess{}
	var deliveryIDs, destinationIDs []string
	for _, s := range group {
		byID[s.delivery.ID] = s
		deliveryIDs = append(deliveryIDs, s.delivery.ID)
		if s.delivery.Policy.HasHealth {
			destinationIDs = append(destinationIDs, s.delivery.Destination.ID)
		}
	}
	destinations, err := readDestinations(ctx, tx, destinationIDs)
	if err != nil {
		return nil, err
	}
	// Behind some an event is being added: they are made, and leave their queues later (leaveQueues).
	const withID = ` WHERE id = ANY (CAST($1 AS uuid[])) ORDER BY id `
	var leaving, staying []attemptedRow
	if err := tx.SelectContext(ctx, &leaving, selectAttempted+withID+`FOR UPDATE SKIP LOCKED`, pq.Array(deliveryIDs)); err != nil {
		return nil, err
	}
	for _, d := range leaving {
		deliveryIDs = slices.DeleteFunc(deliveryIDs, func(id string) bool { return id == d.ID })
	}
	if len(deliveryIDs) > 0 {
		if err := tx.SelectContext(ctx, &staying, selectAttempted+withID+`FOR NO KEY UPDATE SKIP LOCKED`, pq.Array(deliveryIDs)); err != nil {
			return nil, err
		}
	}
	var rows []successRow
	var events, took []string
	queues := map[string]*queuedSuccess{}
	for n, d := range slices.Concat(leaving, staying) {
		s := byID[d.ID]
		attempts, repeated, err := d.with(s.outcome.Attempt)
		if err != nil || repeated || d.Thread || d.State != "pending" {
			continue
		}
		if !s.delivery.Policy.HasHealth {
			events = append(events, d.ID)
		} else if stays, known := destinations[d.DestinationID.String].staysHealthy(s.outcome); !stays {
			continue
		} else if !known {
			took = append(took, d.DestinationID.String)
		}
		s.recorded.Due = d.isCallbackOutOfQueue()
		if n < len(leaving) && d.Queue.Valid {
			queues[d.Queue.String] = s
		}
		rows, stored = append(rows, successRow{d.ID, attempts, n < len(leaving)}), append(stored, s)
	}
	if err := execRows(ctx, tx, storeSuccesses, rows); err != nil {
		return nil, err
	}
	if len(took) > 0 { // a lease that has locked one is not waited for: the next success says it, too
		if _, err := tx.ExecContext(ctx, `
			UPDATE destinations SET delivered_at = now() WHERE id = ANY (ARRAY(
				SELECT id FROM destinations WHERE id = ANY (CAST($1 AS uuid[])) FOR NO KEY UPDATE SKIP LOCKED))`, pq.Array(took)); err != nil {
			return nil, err
		}
	}
	if len(queues) > 0 {
		advanced, err := advanceQueues(ctx, tx, slices.Collect(maps.Keys(queues)), 0)
		if err != nil {
			return nil, err
		}
		for _, queue := range advanced {
			queues[queue].recorded.Due = true
		}
	}
	if len(events) == 0 {
		return stored, nil
	}
	changes, err := mirrorCallbacks(ctx, tx, events)
	if err != nil {
		return nil, err
	}
	return stored, addToFeed(ctx, tx, changes...)
}

// readDestinations reads destinations, by ID.
func readDestinations(ctx context.Context, tx *sqlx.Tx, ids []string) (map[string]destinationRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []destinationRow
	if err := tx.SelectContext(ctx, &rows, selectDestinations+` AND id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids)); err != nil {
		return nil, err
	}
	byID := map[string]destinationRow{}
	for _, r := range rows {
		byID[r.ID] = r
	}
	return byID, nil
}
