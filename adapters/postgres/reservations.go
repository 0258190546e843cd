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

// dueBatch is how many reservations one Due takes.
const dueBatch = 32

// takeDue moves due reservations term into the future, in which nobody else
// finds them due. What it finds is looked at again once locked, so one that
// another gateway has taken, or that was ended, meanwhile is passed over. When
// the next is due is as it was before: when something is taken, now.
const takeDue = `
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

// ClaimDue implements supervisor.Store. When its answer is lost, what it took is due
// again after term.
func (s *Store) ClaimDue(ctx context.Context, term time.Duration) ([]supervisor.Reservation, time.Time, error) {
	var rows []dueRow
	if err := s.db.SelectContext(ctx, &rows, takeDue, term.Seconds(), dueBatch); err != nil {
		return nil, time.Time{}, explain(ctx, "take due reservations", err)
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
func (s *Store) Promote(ctx context.Context, r supervisor.Reservation, place string) (monitor.Monitor, error) {
	var after monitor.Monitor
	err := s.inTx(ctx, "promote "+string(r.ID), func(tx *sqlx.Tx) error {
		held, err := hold(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		if err := held.is(r.Generation); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE monitors SET reserved_until = NULL, place = $2, updated_at = now() WHERE id = $1`, r.ID, place); err != nil {
			return err
		}
		after, err = read(ctx, tx, r.ID)
		return err
	})
	return after, err
}

// Release implements supervisor.Store. What is due at once is due by every clock,
// also by one that is set back afterwards.
func (s *Store) Release(ctx context.Context, held []supervisor.Reservation) error {
	ids, generations := make([]string, len(held)), make([]int64, len(held))
	for i, r := range held {
		ids[i], generations[i] = string(r.ID), int64(r.Generation)
	}
	_, err := s.db.ExecContext(ctx, `
		UPDATE monitors SET reserved_until = 'epoch'
		FROM unnest(CAST($1 AS text[]), CAST($2 AS int[])) AS held (id, generation)
		WHERE monitors.id = held.id AND monitors.generation = held.generation
		  AND reserved_until IS NULL AND `+active, pq.Array(ids), pq.Array(generations))
	return explain(ctx, "give monitors back", err)
}
