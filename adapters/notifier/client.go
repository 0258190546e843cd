package notifier

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// maxReason limits the reason of a provider that is kept, in bytes.
const maxReason = 200

// Config configures a Client; the zero value is usable.
type Config struct {
	AllowedNetworks []netip.Prefix   // private networks in which destinations may be
	Resolver        *net.Resolver    // default the system's
	Version         string           // in the User-Agent, default "dev"
	Timeout         time.Duration    // of one Send, default and maximum delivery.SendTimeout
	RootCAs         *x509.CertPool   // that issue the providers' certificates, default the system's
	Now             func() time.Time // default time.Now
}

// Client makes the requests of all senders. It may be used concurrently.
type Client struct {
	cfg   Config
	guard *outbound.Guard
	http  *outbound.Client
}

// NewClient returns a client that connects to public addresses and to those in the
// allowed networks.
func NewClient(cfg Config) *Client {
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Timeout <= 0 || cfg.Timeout > delivery.SendTimeout {
		cfg.Timeout = delivery.SendTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	guard := outbound.NewGuard(cfg.AllowedNetworks, cfg.Resolver)
	return &Client{cfg: cfg, guard: guard, http: outbound.NewClient(guard, outbound.ClientConfig{
		UserAgent: "stream-monitor/" + cfg.Version,
		Timeout:   cfg.Timeout,
		RootCAs:   cfg.RootCAs,
		Now:       cfg.Now,
	})}
}

// Close closes the idle connections. Call it when no Send is under way.
func (c *Client) Close() { c.http.Close() }

// Send calls attempt with a context that ends in time. If the provider rejects the message
// and it has a picture, Send calls attempt again without it. The result keeps the text of the message.
func (c *Client) Send(ctx context.Context, m message.Message, attempt func(context.Context, message.Message) message.Result) message.Result {
	at := c.cfg.Now()
	if plaintext.Clean(m.Title) == "" {
		m.Title = "stream-monitor" // providers refuse an empty one, and a template may be wrong
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	r := attempt(ctx, m)
	if r.Class == notify.Rejected && m.Picture != nil {
		m.Picture = nil
		r = attempt(ctx, m)
	}
	r.At = at
	if text := m.Text(); r.Exchange != nil {
		r.Exchange.Message = strings.ToValidUTF8(text[:min(len(text), event.MaxExchangeBody)], "")
	}
	return r
}

// Dial connects to a server that does not speak HTTP. The connection ends with ctx. With a TLS
// configuration, TLS begins at once.
func (c *Client) Dial(ctx context.Context, address string, cfg *tls.Config) (net.Conn, error) {
	dialer := c.guard.Dialer(false, c.cfg.Timeout)
	dial := dialer.DialContext
	if cfg != nil {
		dial = (&tls.Dialer{NetDialer: dialer, Config: cfg}).DialContext
	}
	conn, err := dial(ctx, "tcp", address)
	if err == nil {
		context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	return conn, err
}

// TLSConfig returns the configuration for connections to a host (decision O6).
func (c *Client) TLSConfig(host string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.cfg.RootCAs, ServerName: host}
}

// Timeout returns the longest that one Send takes.
func (c *Client) Timeout() time.Duration { return c.cfg.Timeout }

// Now returns the time.
func (c *Client) Now() time.Time { return c.cfg.Now() }

// Describe says in one line why a Dial failed, without addresses and without the secrets of the
// destination.
func (c *Client) Describe(ctx context.Context, d notify.Destination, err error) string {
	return outbound.OneLine(redactor(d)(c.http.Describe(ctx, err)))
}

// Request is a request to a provider.
type Request struct {
	Method string // default POST
	URL    string
	Header map[string]string
	JSON   any        // the body, unless there is one of the next two
	Form   []FormPart // the body as a form; nil: it is none
	Body   *Body      // the body as it is; nil: there is none
}

// Body is the body of a request as it is.
type Body struct {
	ContentType string
	Bytes       []byte
}

// Reply is the answer of a provider.
type Reply struct {
	message.Result
	Body   []byte // at most 64 KiB
	redact func(string) string
}

// Do makes a request on behalf of a destination, whose secrets it redacts in the reply.
func (c *Client) Do(ctx context.Context, d notify.Destination, r Request) Reply {
	redact := redactor(d)
	req, err := r.newHTTPRequest(ctx)
	if err != nil {
		return Reply{Result: message.Result{Attempt: event.Attempt{Error: err.Error()}, Class: notify.Retry}, redact: redact}
	}
	a, body := c.http.Do(req, redact)
	return Reply{Body: body, redact: redact, Result: message.Result{Attempt: a, Class: notify.ClassOfStatus(a.Status)}}
}

// redactor returns a function that redacts the secrets of a destination in a text.
func redactor(d notify.Destination) func(string) string {
	return outbound.Redactor(slices.Collect(maps.Values(d.Secrets))...)
}

func (r Request) newHTTPRequest(ctx context.Context) (*http.Request, error) {
	if r.Method == "" {
		r.Method = http.MethodPost
	}
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(body.Bytes))
	if err != nil || req.URL.Host == "" || req.URL.Scheme != "https" && req.URL.Scheme != "http" {
		return nil, errors.New("the URL of the destination cannot be requested") // the URL may be a secret
	}
	if body.ContentType != "" {
		req.Header.Set("Content-Type", body.ContentType)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	return req, nil
}

func (r Request) body() (*Body, error) {
	switch {
	case r.Method == http.MethodGet:
		return &Body{}, nil
	case r.Body != nil:
		return r.Body, nil
	case r.Form != nil:
		form, contentType, err := outbound.NewForm(r.Form)
		return &Body{ContentType: contentType, Bytes: form}, err
	}
	encoded, err := wire.Encode(r.JSON) // providers count characters before escaping
	return &Body{ContentType: "application/json; charset=utf-8", Bytes: encoded}, err
}

// Decode reads the JSON of the answer into v and reports whether it could.
func (r *Reply) Decode(v any) bool { return json.Unmarshal(r.Body, v) == nil }

// SetFailure makes the reply a failure of a class. The reason of the provider is appended to
// the error of the status; a success has none.
func (r *Reply) SetFailure(class notify.FailureClass, reason string) {
	r.Class = class
	r.AddReason(reason)
}

// AddReason adds the reason that the provider gave for a failure.
func (r *Reply) AddReason(reason string) {
	switch {
	case reason == "":
	case r.Error == "":
		r.Error = outbound.OneLine(r.redact(reason))
	default:
		r.Error = outbound.OneLine(r.Error + ": " + r.redact(reason))
	}
}

// Text returns the beginning of the answer as one line, for providers whose errors are plain
// text. It returns "" for a page of HTML, which explains nothing.
func (r *Reply) Text() string {
	s := strings.ToValidUTF8(string(r.Body[:min(len(r.Body), maxReason)]), "")
	if strings.HasPrefix(strings.TrimSpace(s), "<") {
		return ""
	}
	return plaintext.Clean(s)
}
