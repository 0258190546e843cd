package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// SubjectStore reads what routes are explained for (section 19.2).
type SubjectStore struct{ db *database }

var _ routing.SubjectReader = (*SubjectStore)(nil)

type subjectRow struct {
	MonitorID  monitor.ID     `db:"monitor_id"`
	Metadata   []byte         `db:"metadata"`
	EventType  sql.NullString `db:"event_type"`
	IncidentID sql.NullString `db:"incident_id"`
	Severity   sql.NullInt64  `db:"severity"`
	Conditions []byte         `db:"conditions"`
}

func (r subjectRow) toSubject() (routing.StoredSubject, error) {
	row := incidentRow{ID: r.IncidentID.String, Severity: int(r.Severity.Int64), Conditions: r.Conditions}
	if r.Conditions == nil { // there is no incident
		row.Conditions = []byte(`[]`)
	}
	i, err := row.toIncident()
	if err != nil {
		return routing.StoredSubject{}, err
	}
	about := notify.StreamIncident{Incident: *i, MonitorID: r.MonitorID, Metadata: notify.FlattenMetadata(r.Metadata)}
	s := routing.StoredSubject{Subject: about.Subject(), IncidentID: i.ID}
	s.EventType = event.Type(r.EventType.String)
	return s, nil
}

// EventSubject implements routing.SubjectReader.
func (s *SubjectStore) EventSubject(ctx context.Context, eventID string) (routing.StoredSubject, error) {
	subject, err := s.subject(ctx, `
		SELECT e.monitor_id, m.metadata, e.event_type, i.id AS incident_id, i.severity, i.conditions
		FROM monitor_events e JOIN monitors m ON m.id = e.monitor_id LEFT JOIN incidents i ON i.id = e.incident_id
		WHERE e.id = CAST($1 AS uuid)`, eventID, monitor.Errorf(routing.EventNotFound, "no event has the id %.60q", eventID))
	subject.EventID = eventID
	return subject, err
}

// IncidentSubject implements routing.SubjectReader.
func (s *SubjectStore) IncidentSubject(ctx context.Context, incidentID string) (routing.StoredSubject, error) {
	return s.subject(ctx, `
		SELECT i.monitor_id, m.metadata, CAST(NULL AS text) AS event_type, i.id AS incident_id, i.severity, i.conditions
		FROM incidents i JOIN monitors m ON m.id = i.monitor_id
		WHERE i.id = CAST($1 AS uuid)`, incidentID, monitor.Errorf(routing.IncidentNotFound, "no incident has the id %.60q", incidentID))
}

// OpenSubjects implements routing.SubjectReader.
func (s *SubjectStore) OpenSubjects(ctx context.Context) ([]routing.StoredSubject, error) {
	var rows []subjectRow
	if err := s.db.SelectContext(ctx, &rows, `
		SELECT i.monitor_id, m.metadata, i.id AS incident_id, i.severity, i.conditions
		FROM incidents i JOIN monitors m ON m.id = i.monitor_id WHERE i.state = 'open' ORDER BY i.seq`); err != nil {
		return nil, wrapError(ctx, "read the open incidents", err)
	}
	open := make([]routing.StoredSubject, 0, len(rows))
	for _, row := range rows {
		subject, err := row.toSubject()
		if err != nil {
			return nil, err
		}
		open = append(open, subject)
	}
	return open, nil
}

// Storm implements routing.SubjectReader.
func (s *SubjectStore) Storm(ctx context.Context, stormID string) (notify.Storm, error) {
	var stored []byte
	err := s.db.GetContext(ctx, &stored, `SELECT storm FROM deliveries`+whereID+` AND storm IS NOT NULL`, stormID)
	if errors.Is(err, sql.ErrNoRows) {
		return notify.Storm{}, monitor.Errorf(routing.StormNotFound, "no storm has the id %.60q", stormID)
	}
	if err != nil {
		return notify.Storm{}, wrapError(ctx, "read the storm "+stormID, err)
	}
	storm, err := readStorm(stormID, stored)
	if err != nil {
		return notify.Storm{}, err
	}
	members, _, err := s.db.readRoutedIncidents(ctx, s.db, selectIncidentsOf, pq.Array([]string{stormID}))
	for _, i := range members {
		storm.Incidents = append(storm.Incidents, i.StreamIncident)
	}
	return storm, wrapError(ctx, "read the storm "+stormID, err)
}

func (s *SubjectStore) subject(ctx context.Context, query, id string, missing error) (routing.StoredSubject, error) {
	var row subjectRow
	err := s.db.GetContext(ctx, &row, query, id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return routing.StoredSubject{}, missing
	case err != nil:
		return routing.StoredSubject{}, wrapError(ctx, "read the subject "+id, err)
	}
	return row.toSubject()
}
