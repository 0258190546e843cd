package registry

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// WebhookTest is the result of a test webhook.
type WebhookTest struct {
	EventID string
	Body    []byte // as signed and sent
	Attempt Attempt
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
	body, err := event.NewTest(id, s.cfg.Now().In(s.cfg.Zone))
	if err != nil {
		return WebhookTest{}, err
	}
	return WebhookTest{EventID: id, Body: body, Attempt: s.testSender.Deliver(ctx, to, id, event.Test, body)}, nil
}
