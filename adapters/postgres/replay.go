package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// replayed begins a new round of a delivery x. An event keeps its sequence.
const replayed = `
	state = 'pending', due_at = now(), planned_at = now(), round_began_at = now(), tried = 0, blocks_until = NULL, changed = true,
	leased_until = NULL, lease = NULL`

// Replay implements routing.Replayer. A thread that has failed tells what there is to tell
// now. One that was delivered tells its present state once more, as if the destination did
// not know it.
func (o *DestinationOutbox) Replay(ctx context.Context, deliveryID string) error {
	if _, err := uuid.Parse(deliveryID); err != nil {
		return deliveryNotFound(deliveryID)
	}
	return o.db.inTx(ctx, "replay delivery "+deliveryID, func(tx *sqlx.Tx) error {
		result, err := tx.ExecContext(ctx, `
			UPDATE deliveries x SET `+replayed+`,
				told = CASE WHEN x.state <> 'delivered' THEN x.told
				            WHEN EXISTS (SELECT FROM incidents i WHERE i.id = x.incident_id AND i.state = 'open')
				              OR EXISTS (SELECT FROM storms s WHERE s.id = x.storm_id AND s.state = 'open') THEN NULL
				            ELSE jsonb_set(x.told, '{open}', 'true') END
			WHERE x.id = $1 AND x.state <> 'pending'`, deliveryID)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		switch {
		case err != nil:
			return err
		case n > 0:
			return wakeDestinations(ctx, tx)
		}
		var exists bool
		if err := tx.GetContext(ctx, &exists, `SELECT EXISTS (SELECT FROM deliveries WHERE id = $1)`, deliveryID); err != nil {
			return err
		}
		if !exists {
			return deliveryNotFound(deliveryID)
		}
		return nil // it is pending
	})
}

// ReplayFailed implements routing.Replayer.
func (o *DestinationOutbox) ReplayFailed(ctx context.Context, since time.Time, destinationID string) (replayedCount int, err error) {
	err = o.db.inTx(ctx, "replay failed deliveries", func(tx *sqlx.Tx) error {
		result, err := tx.ExecContext(ctx, `
			UPDATE deliveries x SET `+replayed+`
			FROM destinations d
			WHERE x.state = 'failed' AND x.created_at >= $1 AND d.id = x.destination_id AND d.deleted_at IS NULL
			  AND CASE WHEN $2 = '' THEN d.enabled ELSE CAST(d.id AS text) = $2 END`, since.UTC(), destinationID)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		replayedCount += int(n) // a try whose outcome was unknown may have been stored
		return wakeDestinations(ctx, tx)
	})
	return replayedCount, err
}

func deliveryNotFound(id string) error {
	return monitor.Errorf(routing.DeliveryNotFound, "no delivery to a destination has the id %.60q", id)
}
