package registry

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// TestEvent is the event type of a test webhook (decision A8). Section 4.1 does not contain
// it, so that no receiver mistakes a test for an alert.
const TestEvent event.Type = "webhook.test"

// The monitor id and stream URL in a test webhook. Neither exists. Both have a valid
// form, because a receiver may validate them.
const (
	testMonitor = "mon-00000000000070008000000000000000"
	testStream  = "https://www.youtube.com/watch?v=XXXXXXXXXXX"
)

// WebhookTest is the result of a test webhook.
type WebhookTest struct {
	EventID string
	Body    []byte // as signed and sent
	Attempt Attempt
}

type testPayload struct {
	EventID   string            `json:"event_id"`
	EventType event.Type        `json:"event_type"`
	MonitorID string            `json:"monitor_id"`
	StreamURL string            `json:"stream_url"`
	Timestamp time.Time         `json:"timestamp"`
	Data      map[string]string `json:"data"`
	Metadata  struct{}          `json:"metadata"`
}

// TestWebhook sends one signed test webhook to a URL and returns the result. A
// refusal by the receiver is part of the result, not an error. It blocks until the
// receiver answers, 10 s at most. Errors: *monitor.Error InvalidURL.
func (s *Service) TestWebhook(ctx context.Context, callbackURL string) (WebhookTest, error) {
	to, err := monitor.ParseCallbackURL(callbackURL)
	if err != nil {
		return WebhookTest{}, err
	}
	if err := s.callbacks.Check(ctx, to); err != nil {
		return WebhookTest{}, err
	}
	u := s.cfg.NewUUID()
	id := fmt.Sprintf("%s-%s-%s-%s-%s", hex.EncodeToString(u[:4]), hex.EncodeToString(u[4:6]),
		hex.EncodeToString(u[6:8]), hex.EncodeToString(u[8:10]), hex.EncodeToString(u[10:]))
	body, err := json.Marshal(testPayload{
		EventID:   id,
		EventType: TestEvent,
		MonitorID: testMonitor,
		StreamURL: testStream,
		Timestamp: s.cfg.Now().In(s.cfg.Zone).Truncate(time.Millisecond),
		Data:      map[string]string{"message": "This is a test. Nothing has happened to any stream."},
	})
	if err != nil {
		return WebhookTest{}, fmt.Errorf("test webhook: %w", err)
	}
	return WebhookTest{EventID: id, Body: body, Attempt: s.testSender.Deliver(ctx, to, id, TestEvent, body)}, nil
}
