package webhookreceiver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Delivery is one attempt to deliver an event.
type Delivery struct {
	Received time.Time
	Attempt  int // of this event id, the first is 1
	Method   string
	Header   http.Header
	Body     []byte

	EventID   string // from the body, as are those below
	EventType string
	MonitorID string
	StreamURL string
	Timestamp time.Time
	Data      Data
	Metadata  json.RawMessage

	Verified bool   // see the package's comment
	Problem  string // why it is not verified
	Accepted bool   // verified, and answered 204

	data json.RawMessage // Data, as it was sent
}

// Data holds the data of any event type (section 4.3, decision W7). Fields that
// the type does not have are zero.
type Data struct {
	StartedAt          time.Time    `json:"started_at"`
	DetectedAt         time.Time    `json:"detected_at"`
	EndedAt            time.Time    `json:"ended_at"`
	RecoveredAt        time.Time    `json:"recovered_at"`
	ScheduledStartTime time.Time    `json:"scheduled_start_time"`
	DurationSec        float64      `json:"duration_sec"`
	TotalDurationSec   float64      `json:"total_duration_sec"`
	DelaySec           float64      `json:"delay_sec"`
	ToleranceSec       float64      `json:"tolerance_sec"`
	ThresholdSec       float64      `json:"threshold_sec"`
	SegmentInfo        *SegmentInfo `json:"segment_info"`

	Measured  map[string]float64 `json:"measured"`  // by an optional detector
	Reference string             `json:"reference"` // that it has seen

	Failure              string `json:"failure"`
	LastError            string `json:"last_error"`
	Reason               string `json:"reason"`
	ErrorDetails         string `json:"error_details"`
	Terminal             bool   `json:"terminal"`
	ReconciliationAction string `json:"reconciliation_action"`
}

// SegmentInfo is segment_info of section 4.2.
type SegmentInfo struct {
	Sequence uint64  `json:"sequence"`
	Duration float64 `json:"duration"`
}

// parse reads d.Body into d's other fields.
func parse(d *Delivery) error {
	var body struct {
		EventID   string          `json:"event_id"`
		EventType string          `json:"event_type"`
		MonitorID string          `json:"monitor_id"`
		StreamURL string          `json:"stream_url"`
		Timestamp time.Time       `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
		Metadata  json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(d.Body, &body); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	d.EventID, d.EventType, d.MonitorID, d.StreamURL = body.EventID, body.EventType, body.MonitorID, body.StreamURL
	d.Timestamp, d.data, d.Metadata = body.Timestamp, body.Data, body.Metadata
	if err := json.Unmarshal(d.data, &d.Data); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	return nil
}

// String returns the delivery as one line for people, without the time.
func (d Delivery) String() string {
	verdict := "verified"
	if !d.Verified {
		verdict = "NOT VERIFIED (" + d.Problem + ")"
	}
	if d.Attempt > 1 {
		verdict += fmt.Sprintf(", attempt %d", d.Attempt)
	}
	return fmt.Sprintf("%-25s  %s  %s", d.EventType, verdict, d.data)
}
