package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

const (
	maxHeaderBytes = 64 << 10         // bytes of a response's header
	maxBodyBytes   = 64 << 10         // bytes read of a response's body
	bodyTimeout    = time.Second      // for reading the body of a response
	idleTimeout    = 60 * time.Second // how long an idle connection is kept
	maxIdle        = 64               // idle connections in all
	maxIdlePerHost = 2                // to one receiver
)

// ClientConfig configures a Client.
type ClientConfig struct {
	UserAgent string
	Timeout   time.Duration    // of one attempt
	RootCAs   *x509.CertPool   // that issue the servers' certificates, nil: the system's
	Now       func() time.Time // default time.Now
}

// Client makes HTTP requests to hosts that a Guard allows. It follows no redirects, keeps
// no cookies, uses no proxy (decision O8) and requires TLS 1.2 or newer (decision O6). It may
// be used concurrently.
type Client struct {
	cfg   ClientConfig
	http  *http.Transport // for http, which is allowed only into listed networks
	https *http.Transport // for https
}

// Dialers makes dialers that check the addresses they connect to, as a Guard does.
type Dialers interface {
	Dialer(plain bool, timeout time.Duration) *net.Dialer
}

// NewClient returns a client that connects only where guard allows it.
func NewClient(guard Dialers, cfg ClientConfig) *Client {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Client{cfg: cfg, http: transport(guard, true, cfg), https: transport(guard, false, cfg)}
}

// transport returns a transport for HTTP/1.1, in which no two attempts share a
// connection at the same time. plain allows http without TLS.
func transport(guard Dialers, plain bool, cfg ClientConfig) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // decision O8
		DialContext:            guard.Dialer(plain, cfg.Timeout).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.RootCAs},
		TLSHandshakeTimeout:    cfg.Timeout,
		DisableCompression:     true, // what is read stays within its limit
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// Close closes the idle connections. Call it when no Do is under way.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.https.CloseIdleConnections()
}

// Do makes one attempt within the client's timeout. It sets the User-Agent, and redacts in the
// attempt what the answer repeats of secrets. body is that of the answer as it is, at most 64 KiB. The
// error of an attempt has no addresses and URLs; a status of 2xx has none.
func (c *Client) Do(req *http.Request, redact func(string) string) (a event.Attempt, body []byte) {
	a, body = c.attempt(req)
	a.Error = redact(a.Error)
	if a.Exchange.Answer != nil {
		a.Exchange.Answer = newAnswer(redact(a.Exchange.Answer.ContentType), redact(string(body)))
	}
	return a, body
}

func (c *Client) attempt(req *http.Request) (a event.Attempt, body []byte) {
	ctx := req.Context()
	limited, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	req = req.WithContext(limited)
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	a = event.Attempt{At: c.cfg.Now(), Exchange: newExchange(req)}

	// A transport, unlike an http.Client, follows no redirect and keeps no cookie. Its
	// errors do not contain the URL, which may hold a secret.
	transport := c.https
	if req.URL.Scheme == "http" {
		transport = c.http
	}
	res, err := transport.RoundTrip(req)
	a.Exchange.DurationMS = c.cfg.Now().Sub(a.At).Milliseconds()
	if err != nil {
		a.Error = c.describeFailure(ctx, limited, err)
		return a, nil
	}
	a.Status = res.StatusCode
	if res.StatusCode < 200 || res.StatusCode > 299 {
		a.Error = describeResponse(res)
		a.RetryAfter = retryAfter(res.Header, c.cfg.Now())
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		_ = res.Body.Close() // it is the connection, which the end of limited does not close
		return a, nil
	}

	// The status decides, and unreadable bytes count as not sent. A body that is read to its
	// end, within limits, lets the connection be used again.
	stopReading := time.AfterFunc(bodyTimeout, cancel)
	defer stopReading.Stop()
	body, _ = io.ReadAll(io.LimitReader(res.Body, maxBodyBytes))
	_ = res.Body.Close()
	a.Exchange.Answer = newAnswer(res.Header.Get("Content-Type"), string(body))
	return a, body
}

// Describe says in one line why a connection through a Dialer failed whose context is ctx. It names
// no address.
func (c *Client) Describe(ctx context.Context, err error) string {
	return c.describeFailure(ctx, ctx, err)
}
