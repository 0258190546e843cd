package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// routedIncident is an incident with what its messages need.
type routedIncident struct {
	incident.Incident

	monitorID monitor.ID
	number    int // of the stream
	streamURL monitor.StreamURL
	metadata  []byte
	good      []string // lanes of the history that are good now
	stormID   string   // of the storm that it began in; empty: none
	inStorm   bool     // that storm is open
	unseen    monitor.Unseen
}

func (i routedIncident) subject() notify.Subject {
	return notify.SubjectOf(i.Incident, i.monitorID, i.metadata)
}

func (i routedIncident) ofStorm() notify.StormIncident {
	return notify.StormIncident{Incident: i.Incident, MonitorID: i.monitorID, Metadata: notify.FlattenMetadata(i.metadata), Unseen: i.unseen}
}

// policy returns the policy for the messages about the incident to a destination. storms has
// the open storm that it is in.
func (i routedIncident) policy(d notify.Destination, routing notify.Routing, now time.Time, storms map[string]stormWithIncidents) notify.ThreadPolicy {
	if s, is := storms[i.stormID]; is && i.inStorm {
		return s.Storm.IncidentPolicy(i.ofStorm(), d, routing, now)
	}
	return routing.Policy(d, now, i.subject())
}

// stormWithIncidents is a storm with its incidents.
type stormWithIncidents struct {
	ID string

	Storm notify.Storm
}

type stormRow struct {
	ID         string       `db:"id"`
	OpenedAt   time.Time    `db:"opened_at"`
	ResolvedAt sql.NullTime `db:"resolved_at"`
	FirstAt    time.Time    `db:"first_at"`
	Condition  string       `db:"condition"`
	Severity   int          `db:"severity"`
	Watched    int          `db:"live"`
}

const stormColumns = `s.id, s.opened_at, s.resolved_at, s.first_at, s.condition, s.severity, s.live`

// first returns the opening that the storm began with.
func (r stormRow) first() notify.Opening {
	return notify.Opening{At: r.FirstAt.UTC(), Condition: incident.Name(r.Condition), Severity: r.Severity}
}

// routedIncidentRow is a row of selectRoutedIncidents.
type routedIncidentRow struct {
	incidentRow

	Number      int            `db:"number"`
	Metadata    sql.NullString `db:"metadata_text"`
	StormID     sql.NullString `db:"storm_id"`
	StormIsOpen sql.NullBool   `db:"storm_is_open"`
	ReopenedAt  sql.NullTime   `db:"reopened_at"`
	Good        pq.StringArray `db:"good"`
	Unseen      []byte         `db:"unseen"`
}

const selectRoutedIncidents = `
	SELECT ` + incidentColumns + `, m.number, m.stream_url, m.metadata_text, m.unseen, i.storm_id, s.state = 'open' AS storm_is_open,
	       CASE WHEN i.reopened > 0 THEN (SELECT max(l.at) FROM incident_log l WHERE l.incident_id = i.id AND l.kind = 'reopened') END AS reopened_at,
	       (SELECT array_agg(h.lane) FROM history_lanes h WHERE h.monitor_id = i.monitor_id AND h.state = 'ok') AS good
	FROM incidents i JOIN monitors m ON m.id = i.monitor_id LEFT JOIN storms s ON s.id = i.storm_id`

// readRoutedIncidents reads the incidents that match a condition, in the order of their opening. One
// that cannot be read is logged and left out, so that the others are told.
func (db *database) readRoutedIncidents(ctx context.Context, q sqlx.QueryerContext, where string, args ...any) (all []routedIncident, err error) {
	var rows []routedIncidentRow
	if err := sqlx.SelectContext(ctx, q, &rows, selectRoutedIncidents+` WHERE `+where+` ORDER BY i.seq`, args...); err != nil {
		return nil, err
	}
	for _, r := range rows {
		i, err := r.toIncident()
		if err != nil {
			db.log.Error("an incident cannot be read, nobody is told of it: report the defect with error",
				"incident_id", r.ID, "monitor_id", string(r.MonitorID), "error", err)
			continue
		}
		i.ReopenedAt = timeOrZero(r.ReopenedAt)
		var unseen monitor.Unseen
		if r.Unseen != nil && json.Unmarshal(r.Unseen, &unseen) != nil {
			unseen = monitor.Unseen{} // a message without the reason is better than none
		}
		all = append(all, routedIncident{
			Incident: *i, monitorID: r.MonitorID, number: r.Number, streamURL: monitor.StreamURL(r.StreamURL), metadata: []byte(r.Metadata.String), good: r.Good,
			stormID: r.StormID.String, inStorm: r.StormIsOpen.Bool, unseen: unseen,
		})
	}
	return all, nil
}

// readStorms reads storms with their incidents, by ID.
func (db *database) readStorms(ctx context.Context, q sqlx.QueryerContext, ids []string) (map[string]stormWithIncidents, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []stormRow
	if err := sqlx.SelectContext(ctx, q, &rows, `SELECT `+stormColumns+` FROM storms s WHERE s.id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids)); err != nil {
		return nil, err
	}
	incidents, err := db.readRoutedIncidents(ctx, q, `i.storm_id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids))
	if err != nil {
		return nil, err
	}
	storms := map[string]stormWithIncidents{}
	for _, r := range rows {
		s := stormWithIncidents{ID: r.ID, Storm: notify.Storm{OpenedAt: r.OpenedAt.UTC(), ResolvedAt: timeOrZero(r.ResolvedAt), First: r.first(), Watched: r.Watched}}
		for _, i := range incidents {
			if i.stormID == s.ID {
				s.Storm.Incidents = append(s.Storm.Incidents, i.ofStorm())
			}
		}
		storms[s.ID] = s
	}
	return storms, nil
}

// stormsOf reads the open storms that incidents are in.
func (db *database) stormsOf(ctx context.Context, q sqlx.QueryerContext, incidents []routedIncident) (map[string]stormWithIncidents, error) {
	var ids []string
	for _, i := range incidents {
		if i.inStorm && !slices.Contains(ids, i.stormID) {
			ids = append(ids, i.stormID)
		}
	}
	return db.readStorms(ctx, q, ids)
}
