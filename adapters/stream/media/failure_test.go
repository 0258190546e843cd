package media_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/outbound/outboundtest"
	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// closedPort returns the address of a port on which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// silentServer returns the address of a server that accepts connections and never
// answers: they wait in its backlog.
func silentServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// tlsServer returns the URL of a server with an unknown certificate authority.
func tlsServer(t *testing.T, config *tls.Config) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = config
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func throughProxy(t *testing.T, address string) func(*media.Config) {
	t.Helper()
	proxy, err := url.Parse("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *media.Config) { c.Proxy = http.ProxyURL(proxy) }
}

// An operator reads the host and the cause first. The error of the Go library follows.
func TestAFailureNamesTheHostThenTheCauseInPlainWords(t *testing.T) {
	closed, silent := closedPort(t), silentServer(t)
	plain := strings.TrimPrefix(serve(t, func(http.ResponseWriter, *http.Request) {}), "http://")
	refusing := strings.TrimPrefix(serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
	}), "http://")
	oldTLS := tlsServer(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	untrusted := tlsServer(t, nil)
	redirecting := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+closed+secret, http.StatusFound)
	})
	noNames := func(c *media.Config) { c.Resolver = outboundtest.DNSRecords{}.Resolver(t) }
	shortConnect := func(c *media.Config) { c.Connect = 50 * time.Millisecond }
	shortHeader := func(c *media.Config) { c.Header = 50 * time.Millisecond }

	for name, c := range map[string]struct {
		base   string
		change func(*media.Config)
		begins string
		quotes string
	}{
		"a name that DNS does not have":         {"http://later.example", noNames, "later.example cannot be reached: DNS does not resolve later.example", "lookup later.example: no such host"},
		"a closed port":                         {"http://" + closed, nil, closed + " cannot be reached: it refuses the connection", "connection refused"},
		"a closed port after a redirect":        {redirecting, nil, closed + " cannot be reached: it refuses the connection", "connection refused"},
		"a certificate that is not trusted":     {untrusted, nil, strings.TrimPrefix(untrusted, "https://") + " cannot be reached: its TLS certificate is not trusted here", "x509: "},
		"a server with an old version of TLS":   {oldTLS, nil, strings.TrimPrefix(oldTLS, "https://") + " cannot be reached: the TLS handshake failed", "protocol version not supported"},
		"a server without TLS":                  {"https://" + plain, nil, plain + " cannot be reached: it does not speak TLS", ""},
		"a server that does not begin with TLS": {"https://" + silent, shortConnect, silent + " cannot be reached: timed out, it does not answer", "net/http: TLS handshake timeout"},
		"a server that sends no header":         {"http://" + silent, shortHeader, silent + " gave no usable answer: timed out, it does not answer", "net/http: timeout awaiting response headers"},
		"a proxy that wants a password":         {"https://media.example.com", throughProxy(t, refusing), "media.example.com cannot be reached: the proxy refuses to connect to it", "the proxy answered 407"},
		"a proxy that is not there":             {"https://media.example.com", throughProxy(t, closed), "media.example.com cannot be reached: the proxy refuses the connection", "connection refused"},
		"an address that is not public":         {"http://" + closed, func(c *media.Config) { c.Control = nil }, closed + " is not asked: its address is not allowed", "public internet"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := newClient(t, c.change).Get(withTimeout(t), c.base+secret, 100)
			wantFailure(t, err, watch.FailureNetwork, c.quotes)
			if f, ok := errors.AsType[*watch.Failure](err); ok && !strings.HasPrefix(f.Detail, c.begins) {
				t.Errorf("detail = %q, want it to begin with %q", f.Detail, c.begins)
			}
		})
	}
}
