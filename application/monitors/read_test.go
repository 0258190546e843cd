package monitors_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestATestWebhookIsSentOnce(t *testing.T) {
	ctx := context.Background()

	t.Run("sends one signed webhook and returns its outcome", func(t *testing.T) {
		s := newService(t, 50, nil)
		s.sender.Answer = event.Attempt{Status: 500, Error: "the receiver answered 500"}
		result, err := s.TestWebhook(ctx, callbackURL)
		if err != nil || result.Attempt.Status != 500 {
			t.Fatalf("result is %+v, %v", result, err)
		}
		webhooks := s.sender.Sent()
		if len(webhooks) != 1 || webhooks[0].To != callbackURL || webhooks[0].Type != "webhook.test" || webhooks[0].EventID != result.EventID {
			t.Fatalf("sent %+v", webhooks)
		}
		var body map[string]any
		if err := json.Unmarshal(webhooks[0].Body, &body); err != nil {
			t.Fatal(err)
		}
		if body["event_id"] != result.EventID || body["event_type"] != "webhook.test" || body["timestamp"] != "2024-01-15T12:00:00Z" {
			t.Errorf("body is %v", body)
		}
		if _, err := monitor.ParseID(body["monitor_id"].(string)); err != nil {
			t.Errorf("monitor_id: %v", err)
		}
		if _, err := monitor.ParseStreamURL(body["stream_url"].(string)); err != nil {
			t.Errorf("stream_url: %v", err)
		}
	})
	t.Run("sends nothing to a refused URL", func(t *testing.T) {
		s := newService(t, 50, func(monitor.CallbackURL) error { return monitor.Errorf(monitor.InvalidURL, "private") })
		_, err := s.TestWebhook(ctx, callbackURL)
		requireCode(t, err, monitor.InvalidURL)
		_, err = s.TestWebhook(ctx, "ftp://example.com")
		requireCode(t, err, monitor.InvalidURL)
		if len(s.sender.Sent()) != 0 {
			t.Error("something was sent")
		}
	})
}

func TestAnInvalidConfigIsRefused(t *testing.T) {
	uuid := func() (u [16]byte) { return u }
	for name, cfg := range map[string]monitors.Config{
		"no source of ids":            {},
		"a negative maximum":          {NewUUID: uuid, MaxMonitors: -1},
		"a negative limit to create":  {NewUUID: uuid, CreatePerMin: -1},
		"too large a limit to create": {NewUUID: uuid, CreatePerMin: monitors.MaxPerMin + 1},
		"a negative limit to query":   {NewUUID: uuid, QueryPerMin: -1},
		"too large a limit to query":  {NewUUID: uuid, QueryPerMin: monitors.MaxPerMin + 1},
		"a negative lead":             {NewUUID: uuid, ScheduleLead: -1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := monitors.NewServices(nil, nil, nil, nil, cfg); err == nil {
				t.Error("no error")
			}
		})
	}
}
