package postgres

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// stormLock takes the lock under which incidents are counted. Without it, those that are
// opened at the same time would not see each other. It waits for less than a second: a
// gateway that hangs must not hold back the incidents of the others.
const stormLock = `SET LOCAL lock_timeout = '1s'; SELECT pg_advisory_xact_lock(21325, 3)`

// recordStorm stores which incidents are told as a storm now that some were opened. It
// returns the changes with all of them. If the server refuses, they are told one by one, and
// counted later: with the next that is opened, or by gatherUncounted.
func (db *database) recordStorm(ctx context.Context, tx *sqlx.Tx, c routableChanges) (routableChanges, error) {
	if len(c.opened) == 0 {
		return c, nil
	}
	var members []string
	uncounted := false
	err := optionallyWithin(ctx, tx, func() (err error) {
		members, err = gather(ctx, tx, c.opened, c.now)
		return err
	}, func(err error) {
		members, uncounted = nil, true
		db.log.Warn("incidents could not be counted, and are told one by one: check the database", "error", err.Error())
	})
	if err == nil && uncounted {
		_, err = tx.ExecContext(ctx, `UPDATE incidents SET uncounted = true WHERE id = ANY (CAST($1 AS uuid[]))`, pq.Array(c.opened))
	}
	c.changed = slices.Concat(c.changed, slices.DeleteFunc(members, func(id string) bool { return slices.Contains(c.changed, id) }))
	return c, err
}

// gatherUncounted gathers the newest incidents of the last hour that recordStorm could not
// count, and stores what is to be delivered of their storm.
func (o *DestinationOutbox) gatherUncounted(ctx context.Context) error {
	return o.db.inTx(ctx, "count incidents that were opened", func(tx *sqlx.Tx) error {
		var newest struct {
			ID       string    `db:"id"`
			OpenedAt time.Time `db:"opened_at"`
			Now      time.Time `db:"now"`
		}
		err := tx.GetContext(ctx, &newest, `
			SELECT id, opened_at, clock_timestamp() AS now FROM incidents
			WHERE uncounted AND state = 'open' AND storm_id IS NULL AND opened_at > now() - interval '1 hour'
			ORDER BY opened_at DESC LIMIT 1`)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		members, err := gather(ctx, tx, []string{newest.ID}, newest.Now)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE incidents SET uncounted = false WHERE uncounted AND opened_at > $1`,
			newest.OpenedAt.Add(-notify.StormWindow)); err != nil {
			return err
		}
		return o.db.fanOut(ctx, tx, required, routableChanges{changed: members, now: newest.Now})
	})
}

// gather makes a storm of incidents that were opened and those before them, or adds them to
// the open one, and returns all of them; none: they are no storm. It keeps the lock until the
// transaction ends.
func gather(ctx context.Context, tx *sqlx.Tx, opened []string, now time.Time) (members []string, err error) {
	var live int // counted before the lock is taken, so that others wait less
	if err := tx.GetContext(ctx, &live, `SELECT count(*) FROM monitors m WHERE m.`+activePredicate+` AND m.stream_status = 'live'`); err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, stormLock); err != nil {
		return nil, err
	}
	openings, stormID, err := readOpenings(ctx, tx, opened)
	if err != nil {
		return nil, err
	}
	openings.Live = live
	members, joins := openings.Gather()
	if len(members) == 0 {
		return nil, nil
	}
	if !joins {
		stormID = uuid.Must(uuid.NewV7()).String()
		if _, err := tx.ExecContext(ctx, `INSERT INTO storms (id, state, opened_at, live, updated_at) VALUES ($1, 'open', $2, $3, now())`,
			stormID, now.UTC(), live); err != nil {
			return nil, err
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE incidents SET storm_id = $1 WHERE id = ANY (CAST($2 AS uuid[])) AND storm_id IS NULL`,
		stormID, pq.Array(members)); err != nil {
		return nil, err
	}
	// After the incidents: resolveStorms locks in this order, too.
	_, err = tx.ExecContext(ctx, `UPDATE storms SET live = $2, updated_at = now() WHERE id = $1 AND live < $2`, stormID, live)
	return members, err
}

// readOpenings reads what decides whether incidents that were opened are a storm, and the ID
// of the open storm that has grown last. It does not count the streams that are live.
func readOpenings(ctx context.Context, tx *sqlx.Tx, opened []string) (o notify.Openings, stormID string, err error) {
	var storm struct {
		ID     sql.NullString `db:"id"`
		GrewAt sql.NullTime   `db:"grew_at"`
	}
	if err := tx.GetContext(ctx, &storm, `
		SELECT newest.id, newest.grew_at
		FROM (VALUES (1)) AS one LEFT JOIN (
			SELECT s.id, max(i.opened_at) AS grew_at FROM storms s JOIN incidents i ON i.storm_id = s.id
			WHERE s.state = 'open' GROUP BY s.id ORDER BY grew_at DESC LIMIT 1) AS newest ON true`); err != nil {
		return o, "", err
	}
	o.StormGrewAt = timeOrZero(storm.GrewAt)
	var rows []struct {
		ID       string    `db:"id"`
		OpenedAt time.Time `db:"opened_at"`
	}
	if err := tx.SelectContext(ctx, &rows, `
		SELECT id, opened_at FROM incidents WHERE id = ANY (CAST($1 AS uuid[]))
		UNION
		SELECT id, opened_at FROM incidents
		WHERE state = 'open' AND storm_id IS NULL
		  AND opened_at > (SELECT min(opened_at) - make_interval(secs => $2) FROM incidents WHERE id = ANY (CAST($1 AS uuid[])))`,
		pq.Array(opened), notify.StormWindow.Seconds()); err != nil {
		return o, "", err
	}
	for _, r := range rows {
		opening := notify.Opening{IncidentID: r.ID, At: r.OpenedAt.UTC()}
		if slices.Contains(opened, r.ID) {
			o.Opened = append(o.Opened, opening)
		} else {
			o.Earlier = append(o.Earlier, opening)
		}
	}
	return o, storm.ID.String, nil
}

// resolveStorms resolves the storms whose last incidents the changes resolve. A storm is locked
// before its incidents are counted, so that one of two transactions sees the end of both.
func resolveStorms(ctx context.Context, tx *sqlx.Tx, c routableChanges, incidents []routedIncident) error {
	var ids []string
	for _, i := range incidents {
		if i.inStorm && i.State == incident.Resolved && slices.Contains(c.changed, i.ID) {
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
		pq.Array(ids), c.now.UTC())
	return err
}
