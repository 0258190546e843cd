package postgres

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// stormPause is the shortest time between two messages about a storm, and before the first.
// Its incidents come within seconds, and one message should count most of them.
const stormPause = 5 * time.Second

// stormLock takes the lock under which incidents are counted. Without it, those that are
// opened at the same time would not see each other. It waits for less than a second: a
// gateway that hangs must not hold back the incidents of the others.
const stormLock = `SET LOCAL lock_timeout = '1s'; SELECT pg_advisory_xact_lock(21325, 3)`

// recordStorm makes a storm of the incidents of the last minute. If one of them is in a storm
// already, it adds to it those that were opened. It returns the news with all incidents
// that are now told as a storm. If the server refuses, the incidents are told one by one.
func (db *database) recordStorm(ctx context.Context, tx *sqlx.Tx, n news) (news, error) {
	if len(n.opened) == 0 {
		return n, nil
	}
	var members []string
	err := db.optionallyWithin(ctx, tx, func() error {
		if _, err := tx.ExecContext(ctx, stormLock); err != nil {
			return err
		}
		var found struct {
			StormID sql.NullString `db:"storm_id"`
			Opened  int            `db:"opened"`
			Live    int            `db:"live"`
		}
		err := tx.GetContext(ctx, &found, `
			SELECT (SELECT s.id FROM storms s
			        WHERE s.state = 'open' AND EXISTS (SELECT FROM incidents i WHERE i.storm_id = s.id AND i.opened_at > window_began)
			        ORDER BY s.opened_at DESC LIMIT 1) AS storm_id,
			       (SELECT count(*) FROM incidents i WHERE i.state = 'open' AND i.storm_id IS NULL AND i.opened_at > window_began) AS opened,
			       (SELECT count(*) FROM monitors m WHERE m.`+activePredicate+` AND m.stream_status = 'live') AS live
			FROM (SELECT min(opened_at) - make_interval(secs => $2) AS window_began FROM incidents WHERE id = ANY (CAST($1 AS uuid[]))) AS opened`,
			pq.Array(n.opened), notify.StormWindow.Seconds())
		if err != nil {
			return err
		}
		switch {
		case found.StormID.Valid:
			_, err = tx.ExecContext(ctx, `UPDATE incidents SET storm_id = $1 WHERE id = ANY (CAST($2 AS uuid[]))`, found.StormID.String, pq.Array(n.opened))
			return err
		case notify.IsStorm(found.Opened, found.Opened, found.Live):
			members, err = openStorm(ctx, tx, n, found.Live)
			return err
		}
		return nil
	}, func(err error) {
		members = nil
		db.log.Warn("incidents could not be counted, and are told one by one: check the database", "error", err.Error())
	})
	n.changed = slices.Concat(n.changed, slices.DeleteFunc(members, func(id string) bool { return slices.Contains(n.changed, id) }))
	return n, err
}

// openStorm opens a storm of the incidents of the last minute, and returns their IDs.
func openStorm(ctx context.Context, tx *sqlx.Tx, n news, live int) (members []string, err error) {
	err = tx.SelectContext(ctx, &members, `
		WITH opened AS (
			INSERT INTO storms (id, state, opened_at, live, updated_at) VALUES ($1, 'open', $2, $3, now()))
		UPDATE incidents SET storm_id = $1
		WHERE state = 'open' AND storm_id IS NULL
		  AND opened_at > (SELECT min(opened_at) - make_interval(secs => $5) FROM incidents WHERE id = ANY (CAST($4 AS uuid[])))
		RETURNING id`, uuid.Must(uuid.NewV7()).String(), n.now.UTC(), live, pq.Array(n.opened), notify.StormWindow.Seconds())
	return members, err
}

// resolveStorms resolves the storms whose last incidents the news resolve. A storm is locked
// before its incidents are counted, so that one of two transactions sees the end of both.
func resolveStorms(ctx context.Context, tx *sqlx.Tx, n news, incidents []toldIncident) error {
	var ids []string
	for _, i := range incidents {
		if i.inStorm && i.State == incident.Resolved && slices.Contains(n.changed, i.ID) {
			ids = append(ids, i.stormID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `SELECT FROM storms WHERE id = ANY (CAST($1 AS uuid[])) ORDER BY id FOR NO KEY UPDATE`, pq.Array(ids)); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE storms s SET state = 'resolved', resolved_at = $2, updated_at = now()
		WHERE s.id = ANY (CAST($1 AS uuid[])) AND s.state = 'open' AND NOT EXISTS (SELECT FROM incidents i WHERE i.storm_id = s.id AND i.state = 'open')`,
		pq.Array(ids), n.now.UTC())
	return err
}
