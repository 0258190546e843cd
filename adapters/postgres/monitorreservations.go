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

// claimBatch is the maximum of reservations that one ClaimDue claims.
const claimBatch = 32

// claimDueQuery claims up to $2 due reservations. It makes them due again $1 seconds from
// now and advances their generation. FOR UPDATE checks the conditions again on the
// locked row. So the query skips a reservation that another gateway has claimed
// meanwhile, or that has ended.
//
// wait is the time until the earliest reservation is due, as it was before the update.
// If the query claims any, wait is not positive. ClaimDue then returns a time that has
// passed, and its caller asks again at once. If the query claims none, it returns one
// row with wait alone.
const claimDueQuery = `
	WITH claimed AS (
		UPDATE monitors SET reserved_until = now() + make_interval(secs => $1), generation = generation + 1, seen_at = COALESCE(reported_at, seen_at), reported_at = NULL
		WHERE id = ANY (ARRAY(
			SELECT id FROM monitors WHERE reserved_until <= now() AND ` + activePredicate + `
			ORDER BY reserved_until LIMIT $2
			FOR UPDATE SKIP LOCKED))
		RETURNING id, generation, place <> '' AS handed_over),
	next AS (
		SELECT CAST(EXTRACT(EPOCH FROM min(reserved_until) - clock_timestamp()) AS float8) AS wait
		FROM monitors WHERE reserved_until IS NOT NULL AND ` + activePredicate + `)
	SELECT claimed.id, claimed.generation, claimed.handed_over, next.wait FROM next LEFT JOIN claimed ON true`

type dueRow struct {
	ID         sql.NullString  `db:"id"` // NULL: no reservation was claimed
	Generation sql.NullInt32   `db:"generation"`
	HandedOver sql.NullBool    `db:"handed_over"` // it had a worker before, and a gateway has released it
	Wait       sql.NullFloat64 `db:"wait"`        // seconds; NULL: there is no reservation
}

// ReservationStore claims, promotes and releases reservations (decision A10).
type ReservationStore struct{ db *database }

// ClaimDue implements supervisor.Store. If its answer is lost, the reservations that it
// claimed are due again after term.
func (s *ReservationStore) ClaimDue(ctx context.Context, term time.Duration) ([]supervisor.Reservation, time.Time, error) {
	var rows []dueRow
	if err := s.db.SelectContext(ctx, &rows, claimDueQuery, term.Seconds(), claimBatch); err != nil {
		return nil, time.Time{}, wrapError(ctx, "claim due reservations", err)
	}
	var claimed []supervisor.Reservation
	var next time.Time
	for _, r := range rows {
		if r.ID.Valid {
			claimed = append(claimed, supervisor.Reservation{ID: monitor.ID(r.ID.String), Generation: int(r.Generation.Int32), HandedOver: r.HandedOver.Bool})
		}
		if r.Wait.Valid {
			next = time.Now().Add(time.Duration(r.Wait.Float64 * float64(time.Second)))
		}
	}
	return claimed, next, nil
}

// Promote implements supervisor.Store.
func (s *ReservationStore) Promote(ctx context.Context, r supervisor.Reservation, runtimeID string) (monitor.Monitor, error) {
	var promoted monitor.Monitor
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
		if promoted, err = s.db.readMonitor(ctx, tx, r.ID); err != nil {
			return err
		}
		return addToFeed(ctx, tx, monitorChange(r.ID))
	})
	return promoted, err
}

// Release implements supervisor.Store.
func (s *ReservationStore) Release(ctx context.Context, held []supervisor.Reservation) error {
	ids, generations := make([]string, len(held)), make([]int64, len(held))
	for i, r := range held {
		ids[i], generations[i] = string(r.ID), int64(r.Generation)
	}
	_, err := s.db.ExecContext(ctx, `
		UPDATE monitors SET reserved_until = now()
		FROM unnest(CAST($1 AS text[]), CAST($2 AS int[])) AS held (id, generation)
		WHERE monitors.id = held.id AND monitors.generation = held.generation
		  AND reserved_until IS NULL AND `+activePredicate, pq.Array(ids), pq.Array(generations))
	return wrapError(ctx, "release monitors", err)
}
