package routing

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Codes of questions about what does not exist.
const (
	EventNotFound monitor.Code = "EVENT_NOT_FOUND"
	StormNotFound monitor.Code = "STORM_NOT_FOUND"
)

// SubjectReader reads stored events and incidents. Each method blocks for few exchanges
// with the store and may be called concurrently.
type SubjectReader interface {
	// EventSubject reads an event. It has the severity and the conditions of its incident.
	// One of a channel has the metadata and labels that the channel has now. Errors: *monitor.Error EventNotFound.
	EventSubject(ctx context.Context, eventID string) (notify.Subject, error)

	// IncidentSubject reads an incident. Errors: *monitor.Error incident.NotFound.
	IncidentSubject(ctx context.Context, incidentID string) (notify.Subject, error)

	// Get reads a monitor. Errors: *monitor.Error NotFound.
	Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error)

	// ChannelSubject makes up an event of a channel of streams. Errors: *monitor.Error CHANNEL_NOT_FOUND.
	ChannelSubject(ctx context.Context, channelID string, t event.Type) (notify.Subject, error)

	// OpenSubjects reads all open incidents.
	OpenSubjects(ctx context.Context) ([]notify.Subject, error)

	// Storm reads a storm with its incidents. Errors: *monitor.Error StormNotFound.
	Storm(ctx context.Context, stormID string) (notify.Storm, error)
}

// Question asks where something goes: a stored event, a stored incident, or what the other
// fields describe.
type Question struct {
	EventID    string
	IncidentID string

	EventType  event.Type // empty: an incident
	Conditions []incident.Name
	Severity   int
	MonitorID  monitor.ID
	ChannelID  string // of an event of a channel; empty: of none that is stored
	Metadata   json.RawMessage
	Labels     monitor.Labels
	At         time.Time // zero: now

	Unreadable []error // *monitor.Error of fields that could not be decoded
}

func (q Question) check() error {
	var checked []error
	if q.EventType != "" && !q.EventType.OfChannel() && !slices.Contains(event.Types(), q.EventType) {
		checked = append(checked, monitor.FieldErrorf("event_type", "is %.40q, which does not exist", q.EventType))
	}
	for _, c := range q.Conditions {
		if !slices.Contains(incident.Names(), c) {
			checked = append(checked, monitor.FieldErrorf("conditions", "has %.40q, which does not exist", c))
		}
	}
	if q.Severity < 0 || q.Severity > incident.MaxSeverity {
		checked = append(checked, monitor.FieldErrorf("severity", "is %d; accepted is 0 to %d", q.Severity, incident.MaxSeverity))
	}
	if _, err := monitor.ParseID(string(q.MonitorID)); q.MonitorID != "" && err != nil {
		checked = append(checked, monitor.FieldErrorf("monitor_id", "is %.60q; accepted is mon- and a UUIDv7 without hyphens", q.MonitorID))
	}
	checked = append(checked, append(q.Labels.Check("labels"), q.checkChannel()...)...)
	return joinProblems(q.Unreadable, checked)
}

// checkChannel returns what is wrong because the event belongs to a channel, or to none.
func (q Question) checkChannel() (wrong []error) {
	if !q.EventType.OfChannel() {
		if q.ChannelID != "" {
			wrong = append(wrong, monitor.FieldErrorf("channel_id", "is given without the event_type of an event of a channel, such as %s", event.ChannelUnreadable))
		}
		return wrong
	}
	for field, given := range map[string]bool{"conditions": len(q.Conditions) > 0, "severity": q.Severity > 0, "monitor_id": q.MonitorID != ""} {
		if given {
			wrong = append(wrong, monitor.FieldErrorf(field, "is given for an event of a channel, which has a severity of its own and no incident; leave it out"))
		}
	}
	for field, given := range map[string]bool{"metadata": len(q.Metadata) > 0, "labels": len(q.Labels) > 0} {
		if given && q.ChannelID != "" {
			wrong = append(wrong, monitor.FieldErrorf(field, "is given with channel_id; the channel has its own, so leave out one of them"))
		}
	}
	return wrong
}

// Explanation says where a Subject goes.
type Explanation struct {
	notify.Explanation

	Subject      notify.Subject
	Destinations map[string]notify.Destination // by ID; those of all routes
	PausedUntil  time.Time                     // nobody looks at the stream until then, so that nothing begins; zero: somebody does, or the event has happened
}

// Explainer says where events and incidents go.
type Explainer struct {
	routing  RoutingReader
	subjects SubjectReader
	now      func() time.Time
}

// Explain says where an event or an incident goes now, or at another time, and why. Nothing is sent or stored.
// Errors: *monitor.Error EventNotFound, incident.NotFound, NotFound of a monitor, CHANNEL_NOT_FOUND, InvalidConfig that names every
// wrong field.
func (e *Explainer) Explain(ctx context.Context, q Question) (Explanation, error) {
	if err := q.check(); err != nil {
		return Explanation{}, err
	}
	subject, err := e.subject(ctx, q)
	if err != nil {
		return Explanation{}, err
	}
	routes, err := e.routing.Routing(ctx)
	if err != nil {
		return Explanation{}, err
	}
	at := q.At
	if at.IsZero() {
		at = e.now()
	}
	explained := Explanation{Explanation: routes.Explain(subject, at), Subject: subject, Destinations: routes.Destinations}
	if q.EventID != "" || subject.MonitorID == "" {
		return explained, nil
	}
	m, err := e.subjects.Get(ctx, subject.MonitorID)
	if m.Pause.Until.After(at) {
		explained.PausedUntil = m.Pause.Until
	}
	return explained, err
}

func (e *Explainer) subject(ctx context.Context, q Question) (notify.Subject, error) {
	switch {
	case q.EventID != "":
		return e.subjects.EventSubject(ctx, q.EventID)
	case q.IncidentID != "":
		return e.subjects.IncidentSubject(ctx, q.IncidentID)
	case q.ChannelID != "":
		return e.subjects.ChannelSubject(ctx, q.ChannelID, q.EventType)
	case q.EventType.OfChannel():
		return channel.Channel{Template: channel.Template{Metadata: q.Metadata, Labels: q.Labels}}.Subject(channel.Event{Type: q.EventType}), nil
	}
	metadata, labels := q.Metadata, q.Labels
	if q.MonitorID != "" {
		m, err := e.subjects.Get(ctx, q.MonitorID)
		if err != nil {
			return notify.Subject{}, err
		}
		if len(metadata) == 0 {
			metadata = m.Metadata
		}
		if len(labels) == 0 {
			labels = m.Labels
		}
	}
	return notify.Subject{
		EventType: q.EventType, Conditions: q.Conditions, Severity: q.Severity, MonitorID: q.MonitorID, Metadata: notify.FlattenMetadata(metadata), Labels: labels,
	}, nil
}

// StormOf returns a storm with those of its incidents that the routes lead to a destination.
// It has none if the destination is disabled or deleted. Errors: *monitor.Error StormNotFound.
func (e *Explainer) StormOf(ctx context.Context, stormID, destinationID string) (notify.Storm, error) {
	storm, err := e.subjects.Storm(ctx, stormID)
	if err != nil {
		return notify.Storm{}, err
	}
	routes, err := e.routing.Routing(ctx)
	if err != nil {
		return notify.Storm{}, err
	}
	storm.Incidents = slices.DeleteFunc(storm.Incidents, func(i notify.StreamIncident) bool { return !routes.LeadsTo(destinationID, i.Subject(), e.now()) })
	return storm, nil
}
