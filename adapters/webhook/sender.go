package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	maxHeaderBytes = 64 << 10         // bytes of a response's header
	maxBodyBytes   = 64 << 10         // bytes read of a response's body, beside those that are kept
	drainTimeout   = time.Second      // for reading the body, so that the connection can be used again
	idleTimeout    = 60 * time.Second // how long an idle connection is kept
	maxIdle        = 64               // idle connections in all
	maxIdlePerHost = 2                // to one receiver
)

// Config configures a Sender; the zero value is usable.
type Config struct {
	Version string           // in the User-Agent, default "dev"
	Timeout time.Duration    // of one attempt, default and maximum delivery.SendTimeout (section 4.4)
	RootCAs *x509.CertPool   // that issue the receivers' certificates, default the system's
	Now     func() time.Time // default time.Now
}

// Sender signs and sends webhooks. It may be used concurrently.
type Sender struct {
	keys           Keys
	cfg            Config
	userAgent      string
	httpTransport  *http.Transport // for http, which is allowed only into listed networks
	httpsTransport *http.Transport // for https
}

var (
	_ delivery.Sender         = (*Sender)(nil)
	_ registry.TestSender     = (*Sender)(nil)
	_ registry.CallbackPolicy = (*Guard)(nil)
)

// NewSender returns a sender that signs with keys and connects only where guard
// allows it.
func NewSender(keys Keys, guard *Guard, cfg Config) *Sender {
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Timeout <= 0 || cfg.Timeout > delivery.SendTimeout {
		cfg.Timeout = delivery.SendTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Sender{
		keys:           keys,
		cfg:            cfg,
		userAgent:      "stream-monitor/" + cfg.Version,
		httpTransport:  transport(guard, true, cfg),
		httpsTransport: transport(guard, false, cfg),
	}
}

// dialer returns a dialer that lets the guard check every address.
func dialer(guard *Guard, plain bool, cfg Config) *net.Dialer {
	return &net.Dialer{Timeout: cfg.Timeout, Resolver: guard.resolver, Control: guard.control(plain)}
}

// transport returns a transport for HTTP/1.1, in which no two attempts share a
// connection at the same time. plain allows http without TLS.
func transport(guard *Guard, plain bool, cfg Config) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // decision O8
		DialContext:            dialer(guard, plain, cfg).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs},
		TLSHandshakeTimeout:    cfg.Timeout,
		DisableCompression:     true, // the body is discarded
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// Close closes the idle connections. Call it when no Send is under way.
func (s *Sender) Close() {
	s.httpTransport.CloseIdleConnections()
	s.httpsTransport.CloseIdleConnections()
}

// Send implements delivery.Sender. Any status of class 2xx means that the receiver
// accepted the webhook (section 4.4).
func (s *Sender) Send(ctx context.Context, d delivery.Delivery) delivery.Attempt {
	return s.send(ctx, d.CallbackURL, d.EventID, d.EventType, d.Body)
}

// Deliver signs and sends one webhook that is not in the outbox, such as a test.
func (s *Sender) Deliver(ctx context.Context, to monitor.CallbackURL, eventID string, t event.Type, body []byte) registry.Attempt {
	a := s.send(ctx, to, eventID, t, body)
	return registry.Attempt{At: a.At, Status: a.Status, Error: a.Error, Exchange: a.Exchange}
}

func (s *Sender) send(ctx context.Context, to monitor.CallbackURL, eventID string, t event.Type, body []byte) delivery.Attempt {
	attempt := delivery.Attempt{At: s.cfg.Now()}
	limited, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()

	req, err := http.NewRequestWithContext(limited, http.MethodPost, string(to), bytes.NewReader(body))
	if err != nil {
		attempt.Error = "callback_url cannot be requested"
		return attempt
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.userAgent)
	req.Header.Set("X-Event-Id", eventID)
	req.Header.Set("X-Event-Type", string(t))
	if err := s.keys.sign(req.Header, eventID, body, attempt.At); err != nil {
		attempt.Error = oneLine(err.Error())
		return attempt
	}

	// A transport, unlike an http.Client, follows no redirect and keeps no cookie. Its
	// errors do not contain the URL, which may hold a secret.
	attempt.Exchange = newExchange(req)
	transport := s.httpsTransport
	if req.URL.Scheme == "http" {
		transport = s.httpTransport
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		attempt.Error = s.describeFailure(ctx, limited, err)
		attempt.Exchange.DurationMS = s.cfg.Now().Sub(attempt.At).Milliseconds()
		return attempt
	}
	attempt.Exchange.DurationMS = s.cfg.Now().Sub(attempt.At).Milliseconds()
	attempt.Status = res.StatusCode
	if res.StatusCode < 200 || res.StatusCode > 299 {
		attempt.Error = describeResponse(res)
		attempt.RetryAfter = retryAfter(res.Header, s.cfg.Now())
	}

	// The status decides. Reading the body, within limits, lets the connection be used
	// again.
	stopReading := time.AfterFunc(drainTimeout, cancel)
	defer stopReading.Stop()
	attempt.Exchange.Answer = readAnswer(res)
	_, _ = io.CopyN(io.Discard, res.Body, maxBodyBytes)
	_ = res.Body.Close()
	return attempt
}
