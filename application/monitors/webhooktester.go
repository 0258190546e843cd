package monitors

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// WebhookTest is the result of a test webhook.
type WebhookTest struct {
	EventID string
	Body    []byte // as signed and sent
	Attempt event.Attempt
}

// WebhookTester sends test webhooks. It may be used concurrently.
type WebhookTester struct {
	sender    TestSender
	callbacks CallbackPolicy
	newUUID   func() [16]byte
	now       func() time.Time
	zone      *time.Location // of the times in a body
}

// TestWebhook sends one signed test webhook to a URL and returns the result. A
// refusal by the receiver is part of the result, not an error. It blocks until the
// receiver answers, 10 s at most. Errors: *monitor.Error InvalidURL.
func (t *WebhookTester) TestWebhook(ctx context.Context, callbackURL string) (WebhookTest, error) {
	to, err := monitor.ParseCallbackURL(callbackURL)
	if err != nil {
		return WebhookTest{}, err
	}
	if err := t.callbacks.Check(ctx, to); err != nil {
		return WebhookTest{}, err
	}
	id := uuid.UUID(t.newUUID()).String()
	body, err := event.NewTest(id, t.now().In(t.zone))
	if err != nil {
		return WebhookTest{}, err
	}
	return WebhookTest{EventID: id, Body: body, Attempt: t.sender.Deliver(ctx, to, id, event.Test, body)}, nil
}
