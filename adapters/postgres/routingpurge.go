package postgres

import (
	"context"
)

// purgeBatch is how many deliveries of deleted destinations one transaction deletes.
const purgeBatch = 500

// PurgeDestinations deletes the deliveries of deleted destinations, in batches, and then the
// destinations. It also deletes the counters of hours that no list shows any more. It passes
// over a delivery that another transaction has locked; the next run deletes it. Several gateways
// may call it at once.
func (s *DestinationStore) PurgeDestinations(ctx context.Context) error {
	var deleted []string
	err := s.db.SelectContext(ctx, &deleted, `SELECT id FROM destinations WHERE deleted_at IS NOT NULL`)
	for _, id := range deleted {
		if err == nil {
			err = s.purgeDestination(ctx, id)
		}
	}
	if err == nil {
		_, err = s.db.ExecContext(ctx, `DELETE FROM destination_hours WHERE hour < now() - interval '2 days'`)
	}
	return wrapError(ctx, "delete what is left of deleted destinations", err)
}

// purgeDestination takes the deliveries in the order of their index. In any other order each
// batch would read past what those before it have deleted.
func (s *DestinationStore) purgeDestination(ctx context.Context, id string) error {
	for {
		result, err := s.db.ExecContext(ctx, `
			DELETE FROM deliveries WHERE id = ANY (ARRAY(
				SELECT id FROM deliveries WHERE destination_id = $1 ORDER BY created_at, id LIMIT $2 FOR UPDATE SKIP LOCKED))`, id, purgeBatch)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		if n < purgeBatch {
			break
		}
	}
	_, err := s.db.ExecContext(ctx, `DELETE FROM destinations d WHERE d.id = $1 AND NOT EXISTS (SELECT FROM deliveries x WHERE x.destination_id = d.id)`, id)
	return err
}
