package webhook_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// deadProxy is the proxy in the environment, where nothing listens. net/http reads
// the environment once, so TestMain sets it.
const deadProxy = "http://127.0.0.1:1"

func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		_ = os.Setenv(name, deadProxy)
	}
	goleak.VerifyTestMain(m)
}

const (
	oldKey  = "an-old-key"
	newKey  = "a-new-key"
	eventID = "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d"
	body    = `{"event_type":"alert.blackout","note":"ブラックアウト"}`
)

// shortTimeout bounds an attempt in tests whose receiver does not answer.
const shortTimeout = 300 * time.Millisecond

func keys(t *testing.T, s string) webhook.Keys {
	t.Helper()
	return must.Get(webhook.ParseKeys(s))(t)
}

func networks(t *testing.T, s string) []netip.Prefix {
	t.Helper()
	return must.Get(webhook.ParseNetworks(s))(t)
}

// local allows webhooks to the test's own receivers.
func local(t *testing.T) *webhook.Guard {
	return webhook.NewGuard(networks(t, "127.0.0.0/8"), nil)
}

func sender(t *testing.T, g *webhook.Guard, cfg webhook.Config) *webhook.Sender {
	t.Helper()
	s := webhook.NewSender(keys(t, oldKey), g, cfg)
	t.Cleanup(s.Close)
	return s
}

// send sends an event to a callback.
func send(ctx context.Context, s *webhook.Sender, url string) event.Attempt {
	return s.Send(ctx, monitor.CallbackURL(url), anEvent(), nil)
}

func anEvent() delivery.Event {
	return delivery.Event{EventID: eventID, EventType: "alert.blackout", MonitorID: "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d", Body: []byte(body)}
}

// serve runs a receiver until the test ends.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}
