package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// routedIncident is an incident with what its messages need, and its row.
type routedIncident struct {
	notify.StreamIncident
	row routedIncidentRow
}

// routedIncidentRow is a row of selectRoutedIncidents.
type routedIncidentRow struct {
	incidentRow

	Number     int            `db:"number"`
	ReopenedAt sql.NullTime   `db:"reopened_at"`
	Good       pq.StringArray `db:"good"` // lanes of the history that are good now
	Unseen     []byte         `db:"unseen"`
	Unrouted   int            `db:"unrouted"`
	StormID    sql.NullString `db:"storm_id"` // of the storm that the thread is in by which it was selected
}

const selectRoutedIncidents = `
	SELECT ` + incidentColumns + `, m.number, m.stream_url, m.metadata_text, m.labels, m.unseen, i.unrouted,
	       CASE WHEN i.reopened > 0 THEN (SELECT max(l.at) FROM incident_log l WHERE l.incident_id = i.id AND l.kind = 'reopened') END AS reopened_at,
	       (SELECT array_agg(h.lane) FROM history_lanes h WHERE h.monitor_id = i.monitor_id AND h.state = 'ok') AS good
	FROM incidents i JOIN monitors m ON m.id = i.monitor_id`

// selectIncidentsOf reads the incidents of the threads $1, and of the storms among them.
const selectIncidentsOf = `
	SELECT routed.*, x.storm_id FROM deliveries x CROSS JOIN LATERAL (` + selectRoutedIncidents + ` WHERE i.id = x.incident_id) AS routed
	WHERE x.id = ANY (CAST($1 AS uuid[])) OR x.storm_id = ANY (CAST($1 AS uuid[])) ORDER BY routed.seq`

// readRoutedIncidents reads incidents. One that cannot be read is logged and left out, so that the
// others are told; unreadable has its ID.
func (db *database) readRoutedIncidents(ctx context.Context, q sqlx.QueryerContext, query string, args ...any) (all []routedIncident, unreadable []string, err error) {
	var rows []routedIncidentRow
	if err := sqlx.SelectContext(ctx, q, &rows, query, args...); err != nil {
		return nil, nil, err
	}
	for _, r := range rows {
		i, err := r.toStreamIncident()
		if err != nil {
			db.log.Error("an incident cannot be read, nobody is told of it: report the defect with error",
				"incident_id", r.ID, "monitor_id", string(r.MonitorID), "error", err)
			unreadable = append(unreadable, r.ID)
			continue
		}
		if r.Unseen != nil && json.Unmarshal(r.Unseen, &i.Unseen) != nil {
			i.Unseen = monitor.Unseen{} // a message without the reason is better than none
		}
		i.ReopenedAt, i.Number, i.Good = timeOrZero(r.ReopenedAt), r.Number, r.Good
		all = append(all, routedIncident{i, r})
	}
	return all, unreadable, nil
}

// toStreamIncident returns the incident with what routes compare.
func (r incidentRow) toStreamIncident() (notify.StreamIncident, error) {
	i, err := r.toIncident()
	return notify.StreamIncident{
		Incident: *i, MonitorID: r.MonitorID, StreamURL: r.StreamURL, Metadata: notify.FlattenMetadata([]byte(r.Metadata.String)), Labels: monitor.Labels(r.Labels),
	}, err
}

// storedStorm is what the thread of a storm keeps of it, as JSON.
type storedStorm struct {
	OpenedAt   time.Time     `json:"opened_at"` // when it was found
	ResolvedAt time.Time     `json:"resolved_at,omitzero"`
	FirstAt    time.Time     `json:"first_at"` // the opening that it began with
	Condition  incident.Name `json:"condition"`
	Severity   int           `json:"severity"` // of this condition
	Watched    int           `json:"watched"`  // the most streams that were watched when it grew
}

func (s storedStorm) toStorm(id string) notify.Storm {
	return notify.Storm{
		ID: id, OpenedAt: s.OpenedAt.UTC(), ResolvedAt: s.ResolvedAt, Watched: s.Watched,
		First: notify.Opening{At: s.FirstAt.UTC(), Condition: s.Condition, Severity: s.Severity},
	}
}

// readStorm decodes what a thread keeps of its storm.
func readStorm(id string, raw []byte) (notify.Storm, error) {
	var s storedStorm
	if err := json.Unmarshal(raw, &s); err != nil {
		return notify.Storm{}, fmt.Errorf("storm %s: %w", id, err)
	}
	return s.toStorm(id), nil
}

// readOpenStorm decodes what a thread keeps of a storm; nil: there is none, or it has ended.
func readOpenStorm(id sql.NullString, raw []byte) (*notify.Storm, error) {
	if !id.Valid {
		return nil, nil //nolint:nilnil // none
	}
	storm, err := readStorm(id.String, raw)
	if err != nil || !storm.ResolvedAt.IsZero() {
		return nil, err
	}
	return &storm, nil
}
