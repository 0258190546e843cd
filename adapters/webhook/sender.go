package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Config configures a Sender or an Adviser; the zero value is usable.
type Config struct {
	Version string           // in the User-Agent, default "dev"
	Timeout time.Duration    // of one attempt, default and maximum delivery.SendTimeout (section 4.4), or opinions.AskTimeout
	RootCAs *x509.CertPool   // that issue the receivers' certificates, default the system's
	Now     func() time.Time // default time.Now
}

// client returns the configuration of a client whose attempts take at most so long.
func (c Config) client(maximum time.Duration) outbound.ClientConfig {
	out := outbound.ClientConfig{UserAgent: "stream-monitor/" + cmp.Or(c.Version, "dev"), Timeout: maximum, RootCAs: c.RootCAs, Now: c.Now}
	if c.Timeout > 0 {
		out.Timeout = min(c.Timeout, maximum)
	}
	if c.Now == nil {
		out.Now = time.Now
	}
	return out
}

// Sender signs and sends webhooks. It may be used concurrently.
type Sender struct {
	keys   Keys
	cfg    outbound.ClientConfig
	client *outbound.Client
}

var (
	_ delivery.WebhookSender  = (*Sender)(nil)
	_ monitors.TestSender     = (*Sender)(nil)
	_ monitors.CallbackPolicy = (*Guard)(nil)
)

// NewSender returns a sender that signs with keys and connects only where guard
// allows it.
func NewSender(keys Keys, guard *Guard, cfg Config) *Sender {
	client := cfg.client(delivery.SendTimeout)
	return &Sender{keys: keys, cfg: client, client: outbound.NewClient(guard.outbound, client)}
}

// Close closes the idle connections. Call it when no Send is under way.
func (s *Sender) Close() { s.client.Close() }

// Send implements delivery.WebhookSender. Any status of class 2xx means that the receiver
// accepted the webhook (section 4.4).
func (s *Sender) Send(ctx context.Context, to monitor.CallbackURL, e delivery.Event, keys []string) event.Attempt {
	if keys == nil {
		keys = s.keys
	}
	return s.send(ctx, keys, to, e.EventID, e.EventType, e.Body)
}

// Deliver signs and sends one webhook that is not in the outbox, such as a test.
func (s *Sender) Deliver(ctx context.Context, to monitor.CallbackURL, eventID string, t event.Type, body []byte) event.Attempt {
	return s.send(ctx, s.keys, to, eventID, t, body)
}

func (s *Sender) send(ctx context.Context, keys Keys, to monitor.CallbackURL, eventID string, t event.Type, body []byte) event.Attempt {
	attempt := event.Attempt{At: s.cfg.Now()}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(to), bytes.NewReader(body))
	if err != nil {
		attempt.Error = "the URL cannot be requested"
		return attempt
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Event-Id", eventID)
	req.Header.Set("X-Event-Type", string(t))
	if err := keys.sign(req.Header, eventID, body, attempt.At); err != nil {
		attempt.Error = outbound.OneLine(err.Error())
		return attempt
	}
	sent, _ := s.client.Do(req, outbound.Redactor(append([]string{string(to)}, keys...)...))
	sent.At = attempt.At // as it was signed
	return sent
}
