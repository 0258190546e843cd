package event

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Evidence is the optional object evidence of a payload (section 4.2). A webhook has it if
// the capture for its event was stored before it is sent.
type Evidence struct {
	EvidenceID string            `json:"evidence_id"`
	EventID    string            `json:"event_id"` // of the event; if a recovery has none yet, of its alert
	IncidentID string            `json:"incident_id,omitempty"`
	Links      map[string]string `json:"links"`      // URLs, by the name of the file
	ExpiresAt  time.Time         `json:"expires_at"` // of the links
}

// MayHaveEvidence reports whether evidence is captured for events of this type: alerts,
// recoveries and monitor.error. Of the last only blindness has any.
func (t Type) MayHaveEvidence() bool {
	return t == SegmentError || t == MonitorError || slices.Contains(alerts(), t) || slices.Contains(recoveries(), t)
}

// Recovers returns the type of the alert that a recovery ends; is is false for another
// type.
func (t Type) Recovers() (alert Type, is bool) {
	for _, d := range detector.Table {
		if Type(d.Recovered) == t {
			return Type(d.Alert), true
		}
	}
	return "", false
}

// AddEvidence returns an encoded payload with evidence as its last member. The bytes of
// the payload stay as they are. Times are written in zone.
func AddEvidence(payload []byte, e Evidence, zone *time.Location) ([]byte, error) {
	e.ExpiresAt = wire.Time(e.ExpiresAt, zone)
	return addMember(payload, "evidence", e)
}
