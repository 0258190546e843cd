package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// watchedIncidents reads incidents that go on, of active monitors, with their present lanes.
const watchedIncidents = `
	SELECT ` + incidentColumns + `, m.stream_url, COALESCE(m.reported_at, m.seen_at) AS seen,
	       (SELECT COALESCE(json_object_agg(l.lane, json_build_object('State', l.state, 'Since', l.since)), '{}')
	        FROM history_lanes l WHERE l.monitor_id = m.id) AS lanes
	FROM incidents i JOIN monitors m ON m.id = i.monitor_id
	WHERE ` + goingOn + ` AND m.` + activePredicate + ` AND i.seq > $1 ORDER BY i.seq LIMIT $2`

// WatchedIncidents implements incidents.ReconcileStore. A row that cannot be read
// is left out; the sweep logs it.
func (s *IncidentStore) WatchedIncidents(ctx context.Context, after int64, limit int) ([]incidents.Watched, error) {
	var rows []struct {
		incidentRow

		Seen  sql.NullTime `db:"seen"`
		Lanes []byte       `db:"lanes"`
	}
	if err := s.db.SelectContext(ctx, &rows, watchedIncidents, after, limit); err != nil {
		return nil, wrapError(ctx, "read open incidents", err)
	}
	page := make([]incidents.Watched, 0, len(rows))
	for _, r := range rows {
		i, err := r.toRecord()
		present := history.Current{Seen: timeOrZero(r.Seen)}
		if err == nil {
			err = json.Unmarshal(r.Lanes, &present.Lanes)
		}
		if err != nil {
			present = history.Current{} // nothing follows; the page keeps its length
		}
		page = append(page, incidents.Watched{Incident: i, Present: present})
	}
	return page, nil
}

// EndConditions implements incidents.ReconcileStore.
func (s *IncidentStore) EndConditions(ctx context.Context, incidentID string, inputs []incident.Good) (changed bool, err error) {
	err = s.db.inTx(ctx, "end conditions of incident "+incidentID, func(tx *sqlx.Tx) error {
		changed = false
		var row incidentRow
		err := tx.GetContext(ctx, &row, `SELECT `+incidentColumns+` FROM incidents i WHERE i.id = $1 AND `+goingOn+` FOR UPDATE`, incidentID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // it is over
		}
		if err != nil {
			return err
		}
		locked, err := row.toIncident()
		if err != nil {
			return fmt.Errorf("incident %s: %w", incidentID, err)
		}
		steps, err := stepsFrom(ctx, tx, row.MonitorID, locked)
		if err != nil {
			return err
		}
		for _, in := range inputs {
			steps.changes = append(steps.changes, steps.tracker.Step(steps.now, in)...)
		}
		if err := storeIncidents(ctx, tx, steps); err != nil {
			return err
		}
		changed = len(steps.changes) > 0
		return addToFeed(ctx, tx, steps.feedChanges()...)
	})
	return changed, err
}
