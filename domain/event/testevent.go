package event

import (
	"encoding/json"
	"fmt"
	"time"
)

// Test is the type of a test event (decision A8). Section 4.1 does not contain it, so that no
// receiver mistakes a test for an alert.
const Test Type = "webhook.test"

// The monitor id and stream URL in a test event. Neither exists. Both have a valid
// form, because a receiver may validate them.
const (
	TestMonitor = "mon-00000000000070008000000000000000"
	testStream  = "https://www.youtube.com/watch?v=XXXXXXXXXXX"
)

// NewTest returns the payload of a test event with an ID, a UUIDv7. Its timestamp has the zone
// of at.
func NewTest(id string, at time.Time) ([]byte, error) {
	body, err := json.Marshal(struct {
		EventID   string            `json:"event_id"`
		EventType Type              `json:"event_type"`
		MonitorID string            `json:"monitor_id"`
		StreamURL string            `json:"stream_url"`
		Timestamp time.Time         `json:"timestamp"`
		Data      map[string]string `json:"data"`
		Metadata  struct{}          `json:"metadata"`
	}{
		EventID: id, EventType: Test, MonitorID: TestMonitor, StreamURL: testStream, Timestamp: at.Truncate(time.Millisecond),
		Data: map[string]string{"message": "This is a test. Nothing has happened to any stream."},
	})
	if err != nil {
		return nil, fmt.Errorf("test event: %w", err)
	}
	return body, nil
}
