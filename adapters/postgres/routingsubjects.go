package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// SubjectStore reads what routes are explained for (section 19.2).
type SubjectStore struct{ db *database }

const selectSubject = `SELECT ` + incidentColumns + `, m.metadata_text, m.labels FROM incidents i JOIN monitors m ON m.id = i.monitor_id`

// EventSubject implements routing.SubjectReader.
func (s *SubjectStore) EventSubject(ctx context.Context, eventID string) (subject notify.Subject, err error) {
	var row struct {
		MonitorID  monitor.ID     `db:"monitor_id"`
		Metadata   sql.NullString `db:"metadata_text"`
		Labels     labels         `db:"labels"`
		EventType  event.Type     `db:"event_type"`
		IncidentID sql.NullString `db:"incident_id"`
	}
	err = s.db.GetContext(ctx, &row, `
		SELECT e.monitor_id, m.metadata_text, m.labels, e.event_type, i.id AS incident_id
		FROM monitor_events e JOIN monitors m ON m.id = e.monitor_id LEFT JOIN incidents i ON i.id = e.incident_id
		WHERE e.id = CAST($1 AS uuid)`, eventID)
	if errors.Is(err, sql.ErrNoRows) {
		return s.channelEventSubject(ctx, eventID)
	}
	if err != nil {
		return subject, wrapError(ctx, "read the event "+eventID, err)
	}
	subject = notify.Subject{MonitorID: row.MonitorID, Metadata: notify.FlattenMetadata([]byte(row.Metadata.String)), Labels: monitor.Labels(row.Labels)}
	if row.IncidentID.Valid {
		subject, err = s.IncidentSubject(ctx, row.IncidentID.String)
	}
	subject.EventType, subject.EventID = row.EventType, eventID
	return subject, err
}

func (s *SubjectStore) channelEventSubject(ctx context.Context, eventID string) (subject notify.Subject, err error) {
	var row struct {
		ChannelID string     `db:"channel_id"`
		EventType event.Type `db:"event_type"`
		Body      []byte     `db:"body"`
	}
	err = s.db.GetContext(ctx, &row, `SELECT channel_id, event_type, body FROM channel_events WHERE id = CAST($1 AS uuid)`, eventID)
	if errors.Is(err, sql.ErrNoRows) {
		return subject, monitor.Errorf(routing.EventNotFound, "no event has the id %.60q", eventID)
	}
	var body struct {
		Data channel.StreamFound `json:"data"`
	}
	if err == nil && row.EventType == event.StreamFound {
		err = json.Unmarshal(row.Body, &body)
	}
	if err != nil {
		return subject, wrapError(ctx, "read the event "+eventID, err)
	}
	subject, err = s.channelSubject(ctx, row.ChannelID, channel.Event{Type: row.EventType, Stream: &body.Data})
	subject.EventID = eventID
	return subject, err
}

// ChannelSubject implements routing.SubjectReader.
func (s *SubjectStore) ChannelSubject(ctx context.Context, channelID string, t event.Type) (notify.Subject, error) {
	return s.channelSubject(ctx, channelID, channel.Event{Type: t})
}

func (s *SubjectStore) channelSubject(ctx context.Context, channelID string, e channel.Event) (notify.Subject, error) {
	c, err := (&ChannelStore{s.db}).Channel(ctx, channelID)
	if err != nil {
		return notify.Subject{}, err
	}
	return c.Subject(e), nil
}

// IncidentSubject implements routing.SubjectReader.
func (s *SubjectStore) IncidentSubject(ctx context.Context, incidentID string) (notify.Subject, error) {
	var row incidentRow
	err := s.db.GetContext(ctx, &row, selectSubject+` WHERE i.id = CAST($1 AS uuid)`, incidentID)
	if errors.Is(err, sql.ErrNoRows) {
		return notify.Subject{}, incident.UnknownID(incidentID)
	}
	if err != nil {
		return notify.Subject{}, wrapError(ctx, "read the incident "+incidentID, err)
	}
	i, err := row.toStreamIncident()
	return i.Subject(), err
}

// OpenSubjects implements routing.SubjectReader.
func (s *SubjectStore) OpenSubjects(ctx context.Context) ([]notify.Subject, error) {
	var rows []incidentRow
	if err := s.db.SelectContext(ctx, &rows, selectSubject+` WHERE i.state = 'open' ORDER BY i.seq`); err != nil {
		return nil, wrapError(ctx, "read the open incidents", err)
	}
	open := make([]notify.Subject, 0, len(rows))
	for _, row := range rows {
		i, err := row.toStreamIncident()
		if err != nil {
			return nil, err
		}
		open = append(open, i.Subject())
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
