package feed

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Incident is the data of incident.updated: the incident as it is now (section 16.1).
// Its times are in UTC, to the millisecond.
type Incident struct {
	IncidentID           string              `json:"incident_id"`
	MonitorID            monitor.ID          `json:"monitor_id"`
	State                string              `json:"state"`    // open, resolved
	Severity             int                 `json:"severity"` // 0 to 3
	Conditions           []IncidentCondition `json:"conditions"`
	StartedAt            time.Time           `json:"started_at"` // onset of the first condition
	OpenedAt             time.Time           `json:"opened_at"`  // when that was detected
	ResolvedAt           *time.Time          `json:"resolved_at"`
	AcknowledgedAt       *time.Time          `json:"acknowledged_at"`
	AcknowledgedBy       *string             `json:"acknowledged_by"`
	AcknowledgedSeverity *int                `json:"acknowledged_severity"` // at that time; what is worse needs somebody again
	FalsePositive        *bool               `json:"false_positive"`
	Reopened             int                 `json:"reopened"` // how often trouble came back after it was resolved
	Picture              *Picture            `json:"picture"`
}

// IncidentCondition is one condition of an incident.
type IncidentCondition struct {
	Name          string     `json:"name"` // late, black, silent, no_media, blind, error
	StartedAt     time.Time  `json:"started_at"`
	LastStartedAt time.Time  `json:"last_started_at"` // onset of the newest episode
	EndedAt       *time.Time `json:"ended_at"`        // null: it lasts
	Count         int        `json:"count"`           // episodes
	LongestSec    int64      `json:"longest_sec"`     // of the episodes that have ended
	Alert         *Alert     `json:"alert"`           // of the newest episode; null: none
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
}

func newAlert(a *incident.Alert, zone *time.Location) *Alert {
	if a == nil {
		return nil
	}
	return &Alert{orNull(a.EventID), shown(a.At, zone), orNull(a.DurationSec), orNull(a.ThresholdSec), a.Criteria, orNull(a.Reason), orNull(a.Detail)}
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
			Name:          string(c.Name),
			StartedAt:     shown(c.StartedAt, zone),
			LastStartedAt: shown(c.LastStartedAt, zone),
			EndedAt:       shownOrNull(c.EndedAt, zone),
			Count:         c.Count,
			LongestSec:    int64(c.Longest / time.Second),
			Alert:         newAlert(c.Alert, zone),
		})
	}
	return data
}

// NewIncident returns the data of an incident of a monitor.
func NewIncident(id monitor.ID, i incident.Incident) Incident {
	data := Incident{
		IncidentID:     i.ID,
		MonitorID:      id,
		State:          string(i.State),
		Severity:       i.Severity,
		Conditions:     NewConditions(i.Conditions, time.UTC),
		StartedAt:      utc(i.StartedAt),
		OpenedAt:       utc(i.OpenedAt),
		ResolvedAt:     utcOrNull(i.ResolvedAt),
		AcknowledgedAt: utcOrNull(i.AcknowledgedAt),
		AcknowledgedBy: orNull(i.AcknowledgedBy),
		FalsePositive:  i.FalsePositive,
		Reopened:       i.Reopened,
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
	EvidenceID string     `json:"evidence_id"`
	MonitorID  monitor.ID `json:"monitor_id"`
	EventID    string     `json:"event_id"`
	IncidentID *string    `json:"incident_id"`
	Condition  string     `json:"condition"`
	Phase      string     `json:"phase"` // alert, recovery
	Class      string     `json:"class"` // normal, quarantine, case
	Variants   []string   `json:"variants"`
	Note       *string    `json:"note"`
	CreatedAt  time.Time  `json:"created_at"`
}

// Type implements Data.
func (Evidence) Type() Type { return EvidenceAdded }
