package postgres

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// toldIncident is an incident with what its messages need.
type toldIncident struct {
	incident.Incident

	monitorID monitor.ID
	streamURL monitor.StreamURL
	metadata  []byte
	stormID   string // of the storm that it began in; empty: none
	inStorm   bool   // that storm is open, and is told instead of the incident
}

func (i toldIncident) subject() notify.Subject {
	return notify.SubjectOf(i.Incident, i.monitorID, i.metadata)
}

// toldStorm is a storm with its incidents.
type toldStorm struct {
	ID         string         `db:"id"`
	State      incident.State `db:"state"`
	OpenedAt   time.Time      `db:"opened_at"`
	ResolvedAt sql.NullTime   `db:"resolved_at"`
	Live       int            `db:"live"`

	incidents []toldIncident
}

// at returns the storm with those of its incidents that the routes send to a destination. If
// they send none there any more, it has all: the destination may still have to be told the end.
func (s toldStorm) at(d notify.Destination, routing notify.Routing) toldStorm {
	own := slices.DeleteFunc(slices.Clone(s.incidents), func(i toldIncident) bool {
		return !slices.ContainsFunc(routing.Targets(i.subject()), func(t notify.Target) bool { return t.Destination.ID == d.ID })
	})
	if len(own) > 0 {
		s.incidents = own
	}
	return s
}

// situation returns what messages tell of a storm. It was opened with its first incident: the
// clock of the database may have been ahead when the storm was found. It is as severe as the
// worst of its incidents, and handled when each that is open is.
func (s toldStorm) situation() notify.Situation {
	all := notify.Situation{
		Open: s.State == incident.Open && len(s.openIncidents()) > 0, OpenedAt: s.OpenedAt.UTC(), ResolvedAt: timeOrZero(s.ResolvedAt), Streams: len(s.incidents),
	}
	var by []string
	handled := all.Open
	for _, i := range s.incidents {
		one := notify.SituationOf(i.Incident)
		if one.OpenedAt.Before(all.OpenedAt) {
			all.OpenedAt = one.OpenedAt
		}
		if !all.Open && !s.ResolvedAt.Valid && one.ResolvedAt.After(all.ResolvedAt) {
			all.ResolvedAt = one.ResolvedAt // the incidents of other destinations last
		}
		all.Severity = max(all.Severity, one.Severity)
		for _, c := range one.Conditions {
			if !slices.Contains(all.Conditions, c) {
				all.Conditions = append(all.Conditions, c)
			}
		}
		if one.Open {
			handled = handled && one.Handled()
			if !slices.Contains(by, one.AcknowledgedBy) {
				by = append(by, one.AcknowledgedBy)
			}
		}
	}
	if handled {
		slices.Sort(by)
		all.AcknowledgedBy, all.AcknowledgedSeverity = strings.Join(by, ", "), all.Severity
	}
	return all
}

// openIncidents returns the incidents of the storm that are open.
func (s toldStorm) openIncidents() []toldIncident {
	return slices.DeleteFunc(slices.Clone(s.incidents), func(i toldIncident) bool { return i.State != incident.Open })
}

// toldRow is a row of selectTold.
type toldRow struct {
	incidentRow

	Metadata    sql.NullString `db:"metadata_text"`
	StormID     sql.NullString `db:"storm_id"`
	StormIsOpen sql.NullBool   `db:"storm_is_open"`
}

const selectTold = `
	SELECT ` + incidentColumns + `, m.stream_url, m.metadata_text, i.storm_id, s.state = 'open' AS storm_is_open
	FROM incidents i JOIN monitors m ON m.id = i.monitor_id LEFT JOIN storms s ON s.id = i.storm_id`

// readTold reads the incidents that match a condition, in the order of their opening. One
// that cannot be read is logged and left out, so that the others are told.
func (db *database) readTold(ctx context.Context, q sqlx.QueryerContext, where string, args ...any) (all []toldIncident, err error) {
	var rows []toldRow
	if err := sqlx.SelectContext(ctx, q, &rows, selectTold+` WHERE `+where+` ORDER BY i.seq`, args...); err != nil {
		return nil, err
	}
	for _, r := range rows {
		i, err := r.toIncident()
		if err != nil {
			db.log.Error("an incident cannot be read, nobody is told of it: report the defect with error",
				"incident_id", r.ID, "monitor_id", string(r.MonitorID), "error", err)
			continue
		}
		all = append(all, toldIncident{
			Incident: *i, monitorID: r.MonitorID, streamURL: monitor.StreamURL(r.StreamURL), metadata: []byte(r.Metadata.String),
			stormID: r.StormID.String, inStorm: r.StormIsOpen.Bool,
		})
	}
	return all, nil
}

// readStorms reads storms with their incidents, by ID.
func (db *database) readStorms(ctx context.Context, q sqlx.QueryerContext, ids []string) (map[string]toldStorm, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []toldStorm
	if err := sqlx.SelectContext(ctx, q, &rows, `SELECT id, state, opened_at, resolved_at, live FROM storms WHERE id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids)); err != nil {
		return nil, err
	}
	incidents, err := db.readTold(ctx, q, `i.storm_id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids))
	if err != nil {
		return nil, err
	}
	storms := map[string]toldStorm{}
	for _, s := range rows {
		for _, i := range incidents {
			if i.stormID == s.ID {
				s.incidents = append(s.incidents, i)
			}
		}
		storms[s.ID] = s
	}
	return storms, nil
}
