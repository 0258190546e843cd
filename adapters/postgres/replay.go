package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// replayed begins a new round of a delivery that is not in flight. An event keeps its
// sequence, and one that no longer blocks those behind it does not block them again.
const replayed = newRound + `, leased_until = NULL, lease = NULL`

// Replay implements routing.Replayer. A thread that has failed tells what there is to tell
// now. One that was delivered sends its present state once more, as if the destination did
// not know it. The thread keeps the ID of its message, so the message is edited and its end
// is sent. A delivery that waits for a retry is made now; one in flight is left alone.
func (o *DestinationOutbox) Replay(ctx context.Context, deliveryID string) error {
	if _, err := uuid.Parse(deliveryID); err != nil {
		return deliveryNotFound(deliveryID)
	}
	return o.db.inTx(ctx, "replay delivery "+deliveryID, func(tx *sqlx.Tx) error {
		result, err := tx.ExecContext(ctx, `
			UPDATE deliveries x SET `+replayed+`,
				told = CASE WHEN x.state <> 'delivered' AND `+waits+` IS NOT TRUE THEN x.told
				            WHEN EXISTS (SELECT FROM incidents i WHERE i.id = x.incident_id AND i.state = 'open')
				              OR EXISTS (SELECT FROM storms s WHERE s.id = x.storm_id AND s.state = 'open')
				            THEN jsonb_build_object('open', true, 'provider_message_id', COALESCE(x.told ->> 'provider_message_id', ''))
				            ELSE jsonb_set(x.told, '{open}', 'true') END
			WHERE x.id = $1 AND NOT `+deliveryInFlight, deliveryID)
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
		return nil // it is in flight
	})
}

// replayBatch is how many deliveries one transaction of ReplayFailed changes.
const replayBatch = 1000

// replayFailed replays the first $4 failed deliveries behind the place ($1, $2), at the
// destination $3 or, if that is empty, at all that are enabled. It passes over those that
// another transaction has locked, and returns the places of the others.
const replayFailed = `
	WITH failed AS MATERIALIZED (
		SELECT x.id FROM deliveries x
		WHERE x.state = 'failed' AND (x.created_at, x.id) > ($1, CAST($2 AS uuid)) AND x.destination_id = ANY (ARRAY(
			SELECT id FROM destinations WHERE deleted_at IS NULL AND CASE WHEN $3 = '' THEN enabled ELSE CAST(id AS text) = $3 END))
		ORDER BY x.created_at, x.id LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED),
	again AS (
		UPDATE deliveries x SET ` + replayed + ` WHERE x.id = ANY (ARRAY(SELECT id FROM failed)) RETURNING x.created_at, x.id)
	SELECT created_at, id FROM again ORDER BY created_at, id`

// ReplayFailed implements routing.Replayer. It replays in batches, each in a transaction of
// its own, and none twice, even if it fails again meanwhile. An error leaves the batches
// before it replayed.
func (o *DestinationOutbox) ReplayFailed(ctx context.Context, since time.Time, destinationID string) (replayedCount int, err error) {
	type place struct {
		CreatedAt time.Time `db:"created_at"`
		ID        string    `db:"id"`
	}
	behind := place{CreatedAt: since.UTC(), ID: uuid.Nil.String()}
	for {
		var places []place
		err := o.db.inTx(ctx, "replay failed deliveries", func(tx *sqlx.Tx) error {
			places = nil
			if err := tx.SelectContext(ctx, &places, replayFailed, behind.CreatedAt, behind.ID, destinationID, replayBatch); err != nil {
				return err
			}
			replayedCount += len(places) // a try whose outcome was unknown may have been stored
			return wakeDestinations(ctx, tx)
		})
		if err != nil || len(places) < replayBatch {
			return replayedCount, err
		}
		behind = places[len(places)-1]
	}
}

func deliveryNotFound(id string) error {
	return monitor.Errorf(routing.DeliveryNotFound, "no delivery to a destination has the id %.60q", id)
}
