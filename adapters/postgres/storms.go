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
		members, err = db.gather(ctx, tx, c.opened, c.now)
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

// incidentBeganAt is when an incident was opened, or reopened last.
const incidentBeganAt = `GREATEST(i.opened_at, (SELECT max(l.at) FROM incident_log l WHERE l.incident_id = i.id AND l.kind = 'reopened'))`

// gatherUncounted gathers the newest incidents of the last hour that recordStorm could not
// count, and stores what is to be delivered of their storm.
func (o *DestinationOutbox) gatherUncounted(ctx context.Context) error {
	return o.db.inTx(ctx, "count incidents that were opened", func(tx *sqlx.Tx) error {
		var newest struct {
			ID      string    `db:"id"`
			BeganAt time.Time `db:"began_at"`
			Now     time.Time `db:"now"`
		}
		err := tx.GetContext(ctx, &newest, `
			SELECT i.id, `+incidentBeganAt+` AS began_at, clock_timestamp() AS now FROM incidents i LEFT JOIN storms s ON s.id = i.storm_id
			WHERE i.uncounted AND i.state = 'open' AND s.state IS DISTINCT FROM 'open' AND `+incidentBeganAt+` > now() - interval '1 hour'
			ORDER BY began_at DESC LIMIT 1`)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		members, err := o.db.gather(ctx, tx, []string{newest.ID}, newest.Now)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE incidents i SET uncounted = false WHERE i.uncounted AND `+incidentBeganAt+` > $1`,
			newest.BeganAt.Add(-notify.StormWindow)); err != nil {
			return err
		}
		return o.db.fanOut(ctx, tx, required, routableChanges{changed: members, now: newest.Now})
	})
}

// gather makes storms of incidents that were opened or reopened and those before them, or adds
// them to open ones, and returns all of them; none: they are in no storm. It keeps the lock until
// the transaction ends.
func (db *database) gather(ctx context.Context, tx *sqlx.Tx, opened []string, now time.Time) (members []string, err error) {
	var watched int // counted before the lock is taken, so that others wait less
	if err := tx.GetContext(ctx, &watched, `SELECT count(*) FROM monitors m WHERE m.`+activePredicate); err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, stormLock); err != nil {
		return nil, err
	}
	openings, err := db.readOpenings(ctx, tx, opened, now)
	if err != nil {
		return nil, err
	}
	openings.Watched = watched
	for _, g := range openings.Gather() {
		if g.StormID == "" {
			g.StormID = uuid.Must(uuid.NewV7()).String()
			if _, err := tx.ExecContext(ctx, `
				INSERT INTO storms (id, state, opened_at, first_at, condition, severity, live, updated_at) VALUES ($1, 'open', $2, $3, $4, $5, $6, now())`,
				g.StormID, now.UTC(), g.First.At.UTC(), g.First.Condition, g.First.Severity, watched); err != nil {
				return nil, err
			}
		}
		if _, err := tx.ExecContext(ctx, `UPDATE incidents SET storm_id = $1 WHERE id = ANY (CAST($2 AS uuid[])) AND storm_id IS DISTINCT FROM $1`,
			g.StormID, pq.Array(g.IncidentIDs)); err != nil {
			return nil, err
		}
		// After the incidents: resolveStorms locks in this order, too.
		if _, err := tx.ExecContext(ctx, `UPDATE storms SET live = $2, updated_at = now() WHERE id = $1 AND live < $2`, g.StormID, watched); err != nil {
			return nil, err
		}
		members = append(members, g.IncidentIDs...)
	}
	return members, nil
}

// readOpenings reads what decides whether incidents that were opened are storms. It does not
// count the streams that are watched.
func (db *database) readOpenings(ctx context.Context, tx *sqlx.Tx, opened []string, now time.Time) (o notify.Openings, err error) {
	incidents, err := db.readRoutedIncidents(ctx, tx, `i.id = ANY (CAST($1 AS uuid[]))`, pq.Array(opened))
	if err != nil {
		return o, err
	}
	since := now
	for _, i := range incidents {
		if opening, lasts := notify.OpeningOf(i.Incident, now); lasts {
			o.Opened = append(o.Opened, opening)
			if opening.At.Before(since) {
				since = opening.At
			}
		}
	}
	if len(o.Opened) == 0 {
		return o, nil
	}
	since = since.Add(-notify.StormWindow)
	earlier, err := db.readRoutedIncidents(ctx, tx,
		`i.state = 'open' AND i.updated_at > $1 AND s.state IS DISTINCT FROM 'open' AND i.id <> ALL (CAST($2 AS uuid[]))`, since.UTC(), pq.Array(opened))
	if err != nil {
		return o, err
	}
	for _, i := range earlier {
		if opening, lasts := notify.OpeningOf(i.Incident, now); lasts {
			o.Earlier = append(o.Earlier, opening)
		}
	}
	var storms []stormRow
	if err := tx.SelectContext(ctx, &storms, `SELECT `+stormColumns+` FROM storms s WHERE s.state = 'open' AND s.first_at > $1 ORDER BY s.first_at`, since.UTC()); err != nil {
		return o, err
	}
	for _, r := range storms {
		o.Storms = append(o.Storms, notify.Gathered{StormID: r.ID, First: r.first()})
	}
	return o, nil
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
