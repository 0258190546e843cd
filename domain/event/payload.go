package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Payload is the body of a webhook (section 4.2). The bytes of Encode are
// stored, and signed and sent at every attempt, with evidence if it is there by then.
type Payload struct {
	EventID   string          `json:"event_id"`
	EventType Type            `json:"event_type"`
	MonitorID string          `json:"monitor_id"`
	StreamURL string          `json:"stream_url"`
	Timestamp time.Time       `json:"timestamp"`
	Data      Data            `json:"data"`
	Metadata  json.RawMessage `json:"metadata"` // the caller's, untouched; {} if none was given

	Labels map[string]string `json:"labels,omitempty"` // of the registration (section 16.8)
}

// NewPayload joins an event to its registration. Times are written in zone
// (decision A11).
func NewPayload(e Event, monitorID, streamURL string, metadata json.RawMessage, zone *time.Location) Payload {
	if len(metadata) == 0 {
		metadata = json.RawMessage(`{}`)
	}
	return Payload{
		EventID:   e.ID,
		EventType: e.Type,
		MonitorID: monitorID,
		StreamURL: streamURL,
		Timestamp: wire.Time(e.At, zone),
		Data:      inZone(e.Data, zone),
		Metadata:  metadata,
	}
}

// Encode writes the payload as one line of JSON, characters unescaped.
func (p Payload) Encode() ([]byte, error) {
	line, err := wire.Encode(p)
	if err != nil {
		return nil, fmt.Errorf("payload of %s: %w", p.EventType, err)
	}
	return line, nil
}

// AddSequence returns an encoded payload with sequence as its last member (section 19.4).
// The bytes of the payload stay as they are.
func AddSequence(payload []byte, sequence int64) ([]byte, error) {
	return addMember(payload, "sequence", sequence)
}

// addMember returns a JSON object with one more member, which is the last one.
func addMember(object []byte, name string, value any) ([]byte, error) {
	body, isObject := bytes.CutSuffix(object, []byte("}"))
	if !isObject || len(body) < 2 {
		return nil, fmt.Errorf("add %s to a payload: it is no JSON object with members", name)
	}
	member, err := wire.Encode(value)
	if err != nil {
		return nil, fmt.Errorf("add %s to a payload: %w", name, err)
	}
	return slices.Concat(body, []byte(`,"`+name+`":`), member, []byte("}")), nil
}

// inZone returns d with every time in zone.
func inZone(d Data, zone *time.Location) Data {
	switch d := d.(type) {
	case Started:
		d.StartedAt, d.DetectedAt = wire.Time(d.StartedAt, zone), wire.Time(d.DetectedAt, zone)
		if d.ScheduledStartTime != nil {
			t := wire.Time(*d.ScheduledStartTime, zone)
			d.ScheduledStartTime = &t
		}
		return d
	case Ended:
		d.EndedAt = wire.Time(d.EndedAt, zone)
		return d
	case Delayed:
		d.ScheduledStartTime = wire.Time(d.ScheduledStartTime, zone)
		return d
	case Alert:
		d.StartedAt = wire.Time(d.StartedAt, zone)
		return d
	case Recovered:
		d.StartedAt, d.RecoveredAt = wire.Time(d.StartedAt, zone), wire.Time(d.RecoveredAt, zone)
		return d
	case Outage:
		d.StartedAt = wire.Time(d.StartedAt, zone)
		return d
	}
	return d
}
