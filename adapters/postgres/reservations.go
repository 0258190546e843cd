package postgres

import (
	"context"
	"database/sql"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// claimBatch is the maximum of reservations that one ClaimDue takes.
const claimBatch = 32

// claimDue takes due reservations by moving their due time into the future. FOR
// UPDATE checks the conditions again after locking, so it skips a reservation that
// another gateway has taken or that has ended. wait is as of before the update:
// not positive if something was taken.
const claimDue = `
	WITH taken AS (
		UPDATE monitors SET reserved_until = now() + make_interval(secs => $1), generation = generation + 1, reported_at = NULL
		WHERE id = ANY (ARRAY(
			SELECT id FROM monitors WHERE reserved_until <= now() AND ` + active + `
			ORDER BY reserved_until LIMIT $2
			FOR UPDATE SKIP LOCKED))
		RETURNING id, generation, place <> '' AS handed_over),
	next AS (
		SELECT CAST(EXTRACT(EPOCH FROM min(reserved_until) - clock_timestamp()) AS float8) AS wait
		FROM monitors WHERE reserved_until IS NOT NULL AND ` + active + `)
	SELECT taken.id, taken.generation, taken.handed_over, next.wait FROM next LEFT JOIN taken ON true`

type dueRow struct {
	ID         sql.NullString  `db:"id"` // NULL: nothing was taken
	Generation sql.NullInt32   `db:"generation"`
	HandedOver sql.NullBool    `db:"handed_over"` // it was launched before, and has been released
	Wait       sql.NullFloat64 `db:"wait"`        // seconds; NULL: there is no reservation
}

// ReservationStore claims, promotes and releases reservations (decision A10).
type ReservationStore struct{ db *database }

// ClaimDue implements supervisor.Store. If its answer is lost, the reservations it has
// taken become due again after term.
func (s *ReservationStore) ClaimDue(ctx context.Context, term time.Duration) ([]supervisor.Reservation, time.Time, error) {
	var rows []dueRow
	if err := s.db.SelectContext(ctx, &rows, claimDue, term.Seconds(), claimBatch); err != nil {
		return nil, time.Time{}, wrapError(ctx, "claim due reservations", err)
	}
	var taken []supervisor.Reservation
	var next time.Time
	for _, r := range rows {
		if r.ID.Valid {
			taken = append(taken, supervisor.Reservation{ID: monitor.ID(r.ID.String), Generation: int(r.Generation.Int32), HandedOver: r.HandedOver.Bool})
		}
		if r.Wait.Valid {
			next = time.Now().Add(time.Duration(r.Wait.Float64 * float64(time.Second)))
		}
	}
	return taken, next, nil
}

// Promote implements supervisor.Store.
func (s *ReservationStore) Promote(ctx context.Context, r supervisor.Reservation, runtimeID string) (monitor.Monitor, error) {
	var after monitor.Monitor
	err := s.db.inTx(ctx, "promote "+string(r.ID), func(tx *sqlx.Tx) error {
		locked, err := lockMonitor(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		if err := locked.requireGeneration(r.Generation); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE monitors SET reserved_until = NULL, place = $2, updated_at = now() WHERE id = $1`, r.ID, runtimeID); err != nil {
			return err
		}
		after, err = readMonitor(ctx, tx, r.ID)
		return err
	})
	return after, err
}

// Release implements supervisor.Store. It sets the due time to the epoch, which
// stays in the past if the clock is set back.
func (s *ReservationStore) Release(ctx context.Context, held []supervisor.Reservation) error {
	ids, generations := make([]string, len(held)), make([]int64, len(held))
	for i, r := range held {
		ids[i], generations[i] = string(r.ID), int64(r.Generation)
	}
	_, err := s.db.ExecContext(ctx, `
		UPDATE monitors SET reserved_until = 'epoch'
		FROM unnest(CAST($1 AS text[]), CAST($2 AS int[])) AS held (id, generation)
		WHERE monitors.id = held.id AND monitors.generation = held.generation
		  AND reserved_until IS NULL AND `+active, pq.Array(ids), pq.Array(generations))
	return wrapError(ctx, "release monitors", err)
}
