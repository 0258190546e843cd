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
	maxHeaderBytes = 64 << 10         // bytes of an answer's header
	maxBodyBytes   = 64 << 10         // bytes read of an answer's body
	drainTimeout   = time.Second      // spent reading it, to be able to use the connection again
	idleTimeout    = 60 * time.Second // an unused connection is kept
	maxIdle        = 64               // unused connections in all
	maxIdlePerHost = 2                // to one receiver
)

// Config is what a Sender may be told; the zero value is usable.
type Config struct {
	Version string           // in the User-Agent, default "dev"
	Timeout time.Duration    // of one attempt, default and at most deliver.SendLimit (section 4.4)
	RootCAs *x509.CertPool   // that receivers' certificates lead to, default the system's
	Now     func() time.Time // default time.Now
}

// Sender signs and sends letters. It is deliver.Sender and control.Courier and
// may be used concurrently.
type Sender struct {
	keys           Keys
	cfg            Config
	userAgent      string
	httpTransport  *http.Transport // for http, with stricter rules than
	httpsTransport *http.Transport // for https
}

var (
	_ delivery.Sender         = (*Sender)(nil)
	_ registry.Courier        = (*Sender)(nil)
	_ registry.CallbackPolicy = (*Guard)(nil)
)

// NewSender makes a sender that signs with keys and goes only where guard lets
// it.
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

// dialer asks the guard at every dial.
func dialer(guard *Guard, plain bool, cfg Config) *net.Dialer {
	return &net.Dialer{Timeout: cfg.Timeout, Resolver: guard.resolver, Control: guard.control(plain)}
}

// transport speaks HTTP/1.1 only, where an attempt has its connection to itself.
func transport(guard *Guard, plain bool, cfg Config) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // decision O8
		DialContext:            dialer(guard, plain, cfg).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs},
		TLSHandshakeTimeout:    cfg.Timeout,
		DisableCompression:     true, // what comes back is not read
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// Close gives up the connections kept for later use. Call it when nothing is
// being sent any more.
func (s *Sender) Close() {
	s.httpTransport.CloseIdleConnections()
	s.httpsTransport.CloseIdleConnections()
}

// Send signs a letter and sends it once.
func (s *Sender) Send(ctx context.Context, l delivery.Delivery) delivery.Attempt {
	return s.send(ctx, l.CallbackURL, l.EventID, l.EventType, l.Body)
}

// Deliver signs and sends one webhook that is in no outbox.
func (s *Sender) Deliver(ctx context.Context, to monitor.CallbackURL, eventID string, t event.Type, body []byte) registry.Attempt {
	a := s.send(ctx, to, eventID, t, body)
	return registry.Attempt{At: a.At, Status: a.Status, Error: a.Error}
}

func (s *Sender) send(ctx context.Context, to monitor.CallbackURL, eventID string, t event.Type, body []byte) delivery.Attempt {
	answer := delivery.Attempt{At: s.cfg.Now()}
	limited, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()

	req, err := http.NewRequestWithContext(limited, http.MethodPost, string(to), bytes.NewReader(body))
	if err != nil {
		answer.Error = "callback_url cannot be requested"
		return answer
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.userAgent)
	req.Header.Set("X-Event-Id", eventID)
	req.Header.Set("X-Event-Type", string(t))
	if err := s.keys.sign(req.Header, eventID, body, answer.At); err != nil {
		answer.Error = oneLine(err.Error())
		return answer
	}

	// A round trip, not a client: no redirect is followed, no cookie kept, and
	// the URL, which may hold a secret, is not part of the error.
	via := s.httpsTransport
	if req.URL.Scheme == "http" {
		via = s.httpTransport
	}
	res, err := via.RoundTrip(req)
	if err != nil {
		answer.Error = s.describeFailure(ctx, limited, err)
		return answer
	}
	answer.Status = res.StatusCode
	if res.StatusCode < 200 || res.StatusCode > 299 {
		answer.Error = describeResponse(res)
		answer.RetryAfter = retryAfter(res.Header, s.cfg.Now())
	}

	// The answer was complete with its header. Reading what is left, within
	// limits, lets the connection be used again.
	giveUp := time.AfterFunc(drainTimeout, cancel)
	defer giveUp.Stop()
	_, _ = io.CopyN(io.Discard, res.Body, maxBodyBytes)
	_ = res.Body.Close()
	return answer
}
