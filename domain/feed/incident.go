package feed

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Incident is the data of incident.updated: the incident as it is now (section 16.1), with
// its times to the millisecond. The answers about incidents have its fields.
type Incident struct {
	IncidentID           string                     `json:"incident_id"`
	MonitorID            monitor.ID                 `json:"monitor_id"`
	State                incident.State             `json:"state"`
	Severity             int                        `json:"severity"`     // the worst, 0 to 3
	SeverityNow          *int                       `json:"severity_now"` // of what lasts; null: nothing does, or it is resolved
	Conditions           []IncidentCondition        `json:"conditions"`
	StartedAt            time.Time                  `json:"started_at"` // onset of the first condition
	OpenedAt             time.Time                  `json:"opened_at"`  // when that was detected
	ResolvedAt           *time.Time                 `json:"resolved_at"`
	ResolvedBy           *string                    `json:"resolved_by"`                 // null: nobody, it was quiet
	ResolvedByPause      bool                       `json:"resolved_by_pause,omitempty"` // because its stream was paused, by ResolvedBy
	AcknowledgedAt       *time.Time                 `json:"acknowledged_at"`
	AcknowledgedBy       *string                    `json:"acknowledged_by"`
	AcknowledgedSeverity *int                       `json:"acknowledged_severity"` // at that time; what is worse needs somebody again
	Acknowledgements     []incident.Acknowledgement `json:"acknowledgements"`      // all that counted, in order
	FalsePositive        *bool                      `json:"false_positive"`
	Reopened             int                        `json:"reopened"` // how often trouble came back after it was resolved
	Picture              *Picture                   `json:"picture"`
}

// IncidentCondition is one condition of an incident.
type IncidentCondition struct {
	Name          incident.Name `json:"name"`
	StartedAt     time.Time     `json:"started_at"`
	LastStartedAt time.Time     `json:"last_started_at"` // onset of the newest episode
	EndedAt       *time.Time    `json:"ended_at"`        // null: it lasts
	Count         int           `json:"count"`           // episodes
	LongestSec    int64         `json:"longest_sec"`     // of the episodes that have ended
	Spans         []Span        `json:"spans"`           // when it was there
	Alert         *Alert        `json:"alert"`           // of the newest episode; null: none
}

// Span is a time in which a condition was there.
type Span struct {
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"` // null: it lasts
}

// Alert has the numbers that made the event of an episode (section 16.1).
type Alert struct {
	EventID      *string            `json:"event_id"`
	At           time.Time          `json:"at"`
	DurationSec  *int64             `json:"duration_sec"`
	ThresholdSec *int64             `json:"threshold_sec"`
	Criteria     map[string]float64 `json:"criteria"`
	Reason       *string            `json:"reason"`
	Detail       *string            `json:"detail"`
	Cause        *Issue             `json:"cause,omitempty"`   // the likely one; nil: nothing explains it
	Opinion      *Opinion           `json:"opinion,omitempty"` // nil: nobody was asked
}

// Issue is what a source finds wrong with the signal of an encoder, with its words (decision S24).
type Issue struct {
	ingest.Issue

	Words ingest.Words `json:"words"`
}

// Opinion is what became of a second opinion about an alert (section 19.9).
type Opinion struct {
	Verdict    incident.Verdict `json:"verdict"`
	AskedAt    *time.Time       `json:"asked_at"`
	AnsweredAt *time.Time       `json:"answered_at"`
	Label      *string          `json:"label"`
	Confidence *float64         `json:"confidence"` // of a label
	Severity   *int             `json:"severity"`   // of a label
	Reason     *string          `json:"reason"`
}

func newOpinion(o *incident.Opinion, zone *time.Location) *Opinion {
	if o == nil {
		return nil
	}
	data := &Opinion{Verdict: o.Verdict, AskedAt: wire.TimeOrNull(o.AskedAt, zone), AnsweredAt: wire.TimeOrNull(o.AnsweredAt, zone), Label: wire.OrNull(o.Label), Reason: wire.OrNull(o.Reason)}
	if o.Verdict == incident.OpinionLabel {
		data.Confidence, data.Severity = &o.Confidence, &o.Severity
	}
	return data
}

func newAlert(a *incident.Alert, zone *time.Location) *Alert {
	if a == nil {
		return nil
	}
	return &Alert{
		wire.OrNull(a.EventID), wire.Time(a.At, zone), wire.OrNull(a.DurationSec), wire.OrNull(a.ThresholdSec), a.Criteria, wire.OrNull(a.Reason), wire.OrNull(a.Detail),
		newCause(a.Cause), newOpinion(a.Opinion, zone),
	}
}

func newCause(i *ingest.Issue) *Issue {
	if i == nil {
		return nil
	}
	return &Issue{*i, i.Words()}
}

// Picture names the best picture of an incident.
type Picture struct {
	EvidenceID string `json:"evidence_id"`
	Variant    string `json:"variant"`
}

// NewConditions returns the data of the conditions of an incident, with times in a zone.
func NewConditions(all []incident.Condition, zone *time.Location) []IncidentCondition {
	data := make([]IncidentCondition, 0, len(all))
	for _, c := range all {
		data = append(data, IncidentCondition{
			Name:          c.Name,
			StartedAt:     wire.Time(c.StartedAt, zone),
			LastStartedAt: wire.Time(c.LastStartedAt, zone),
			EndedAt:       wire.TimeOrNull(c.EndedAt, zone),
			Count:         c.Count,
			LongestSec:    int64(c.Longest / time.Second),
			Spans:         newSpans(c.Spans, zone),
			Alert:         newAlert(c.Alert, zone),
		})
	}
	return data
}

func newSpans(all []incident.Span, zone *time.Location) []Span {
	data := make([]Span, 0, len(all))
	for _, s := range all {
		data = append(data, Span{wire.Time(s.StartedAt, zone), wire.TimeOrNull(s.EndedAt, zone)})
	}
	return data
}

func newAcknowledgements(all []incident.Acknowledgement, zone *time.Location) []incident.Acknowledgement {
	data := make([]incident.Acknowledgement, 0, len(all))
	for _, a := range all {
		a.At = wire.Time(a.At, zone)
		data = append(data, a)
	}
	return data
}

// SeverityNow returns the severity of what lasts in an open incident; nil: nothing does.
func SeverityNow(i incident.Incident) *int {
	if i.State != incident.Open || !i.Lasts() {
		return nil
	}
	return &i.SeverityNow
}

// NewIncident returns the data of an incident of a monitor, with times in UTC.
func NewIncident(id monitor.ID, i incident.Incident) Incident { return NewIncidentIn(id, i, time.UTC) }

// NewIncidentIn returns the data of an incident of a monitor, with times in a zone.
func NewIncidentIn(id monitor.ID, i incident.Incident, zone *time.Location) Incident {
	data := Incident{
		IncidentID:       i.ID,
		MonitorID:        id,
		State:            i.State,
		Severity:         i.Severity,
		SeverityNow:      SeverityNow(i),
		Conditions:       NewConditions(i.Conditions, zone),
		StartedAt:        wire.Time(i.StartedAt, zone),
		OpenedAt:         wire.Time(i.OpenedAt, zone),
		ResolvedAt:       wire.TimeOrNull(i.ResolvedAt, zone),
		ResolvedBy:       wire.OrNull(i.ResolvedBy),
		ResolvedByPause:  i.ResolvedByPause,
		AcknowledgedAt:   wire.TimeOrNull(i.AcknowledgedAt, zone),
		AcknowledgedBy:   wire.OrNull(i.AcknowledgedBy),
		FalsePositive:    i.FalsePositive,
		Acknowledgements: newAcknowledgements(i.Acknowledgements, zone),
		Reopened:         i.Reopened,
	}
	if i.AcknowledgedBy != "" {
		data.AcknowledgedSeverity = &i.AcknowledgedSeverity
	}
	if i.Picture != nil {
		data.Picture = &Picture{EvidenceID: i.Picture.EvidenceID, Variant: i.Picture.Variant}
	}
	return data
}

// Type implements Data.
func (Incident) Type() Type { return IncidentUpdated }

// Evidence is the data of evidence.added: what was captured for one event (section
// 16.2). Its times are in UTC, to the millisecond.
type Evidence struct {
	EvidenceID string       `json:"evidence_id"`
	MonitorID  monitor.ID   `json:"monitor_id"`
	EventID    string       `json:"event_id"`
	IncidentID *string      `json:"incident_id"`
	Condition  trouble.Name `json:"condition"`
	Phase      string       `json:"phase"` // alert, recovery
	Class      string       `json:"class"` // normal, quarantine, case
	Variants   []string     `json:"variants"`
	Note       *string      `json:"note"`
	CreatedAt  time.Time    `json:"created_at"`
}

// Type implements Data.
func (Evidence) Type() Type { return EvidenceAdded }
