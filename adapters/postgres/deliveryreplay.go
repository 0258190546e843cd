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
// sequence. No other waits for one that is out of its queue.
const replayed = `changed = event_id IS NULL AND notice IS NULL, state = 'pending', tried = 0, failing_since = NULL, due_at = now(), round_began_at = now(), lease = NULL`

// Replay implements routing.Replayer. A thread that has failed tells what there is to tell
// now. One that was delivered sends its present state once more, as if the destination did
// not know it. The thread keeps the ID of its message, so the message is edited and its end
// is sent. A delivery that waits for a retry is made now; one in flight, or behind another in its queue, is left alone.
func (o *Outbox) Replay(ctx context.Context, deliveryID string) error {
	if !monitor.IsUUID(deliveryID) {
		return deliveryNotFound(deliveryID)
	}
	return o.db.inTx(ctx, "replay delivery "+deliveryID, func(tx *sqlx.Tx) error {
		var exists bool
		err := tx.GetContext(ctx, &exists, `
			WITH again AS (
				UPDATE deliveries x SET `+replayed+`,
					told = CASE WHEN x.state <> 'delivered' AND `+waits+` IS NOT TRUE THEN x.told
					            WHEN x.storm IS NOT NULL AND NOT x.storm ? 'resolved_at' OR EXISTS (SELECT FROM incidents i WHERE i.id = x.incident_id AND i.state = 'open')
					            THEN jsonb_build_object('open', true, 'provider_message_id', COALESCE(x.told ->> 'provider_message_id', ''))
					            ELSE jsonb_set(x.told, '{open}', 'true') END
				WHERE x.id = $1 AND x.destination_id IS NOT NULL AND NOT `+inFlight+` AND (x.queue IS NULL OR x.due_at IS NOT NULL))
			SELECT EXISTS (SELECT FROM deliveries WHERE id = $1 AND destination_id IS NOT NULL)`, deliveryID)
		switch {
		case err != nil:
			return err
		case !exists:
			return deliveryNotFound(deliveryID)
		}
		return wakeDispatchers(ctx, tx)
	})
}

// replayBatch is how many deliveries one transaction of ReplayFailed changes.
const replayBatch = 1000

// replayFailed replays the first $4 failed deliveries behind the place ($1, $2), at the
// destination $3 or, if that is empty, at all that are enabled. It passes over those that
// another transaction has locked, and returns the places of the others. With IN it would read what has failed for each destination.
const replayFailed = `
	WITH failed AS (
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
func (o *Outbox) ReplayFailed(ctx context.Context, since time.Time, destinationID string) (replayedCount int, err error) {
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
			return wakeDispatchers(ctx, tx)
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
