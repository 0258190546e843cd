package media_test

import (
	"context"
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
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// flush sends text at once.
func flush(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

// stall sends the beginning of a body and no more.
func stall(w http.ResponseWriter, r *http.Request) {
	flush(w, "some")
	<-r.Context().Done()
}

// sendSlowly sends the header after 300 ms, and then 17 bytes a second for three seconds.
func sendSlowly(w http.ResponseWriter, _ *http.Request) {
	for i := range 60 {
		<-time.After(60 * time.Millisecond)
		if i >= 5 {
			flush(w, "x")
		}
	}
}

func TestASlowServerIsGivenUpAtItsLimit(t *testing.T) {
	drip := func(w http.ResponseWriter, r *http.Request) { // 200 bytes a second
		httpfault.Drip(1, 5*time.Millisecond)(w, r, with(httpfault.Zeros(100_000)))
	}
	short := func(c *media.Config) {
		c.Header, c.Stall, c.MinRate = 300*time.Millisecond, 300*time.Millisecond, 100_000
	}
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, c := range map[string]struct {
		base   string
		limit  func(*media.Config)
		detail string
	}{
		"sends no header":                     {serve(t, with(httpfault.Hang())), func(c *media.Config) { c.Header = 50 * time.Millisecond }, "timed out"},
		"sends no header in the time for all": {serve(t, with(httpfault.Hang())), func(c *media.Config) { c.Total = 50 * time.Millisecond }, "too long in all"},
		"stops in the middle":                 {serve(t, stall), func(c *media.Config) { c.Stall = 50 * time.Millisecond }, "nothing came"},
		"drips below the least rate":          {serve(t, drip), func(c *media.Config) { c.Stall, c.MinRate = 2*time.Second, 100_000 }, "too slowly"},
		"drips for longer than allowed":       {serve(t, drip), func(c *media.Config) { c.Total, c.MinRate = 200*time.Millisecond, 1 }, "too long in all"},
		"drips in the status line":            {rawServer(t, "", true), short, ""},
		"drips in the header":                 {rawServer(t, "HTTP/1.1 200 OK\r\nX: ", true), short, ""},
		"drips in a chunk's size":             {rawServer(t, chunked+"5;", true), short, ""},
		"drips in a chunk":                    {rawServer(t, chunked+"ffffff\r\n", true), short, ""},
		"drips in the trailer":                {rawServer(t, chunked+"0\r\nX: ", true), short, ""},
	} {
		t.Run("a server that "+name+" is given up", func(t *testing.T) {
			client := newClient(t, c.limit)
			wantFetchFailure(t, client, watch.Segment{URI: c.base + secret}, watch.FailureNetwork, c.detail)
			wantFetchFailure(t, client, watch.Segment{URI: c.base + secret, Init: &watch.Init{URI: c.base + secret}}, watch.FailureNetwork, c.detail)
			_, _, err := client.Get(withTimeout(t), c.base+secret, 1<<20)
			wantFailure(t, err, watch.FailureNetwork, c.detail)
		})
	}
}

func TestASlowServerWithinItsLimitsIsAccepted(t *testing.T) {
	const long = 20 * time.Second
	limits := func(c *media.Config) {
		c.Header, c.Stall, c.MinRate, c.Total, c.Connect = long, 3*time.Second, 1, long, long // the rate is measured once
	}
	got := must.Get(fetch(t, newClient(t, limits), watch.Segment{URI: serve(t, sendSlowly) + secret}))(t)
	expect.Equal(t, "got", string(got), strings.Repeat("x", 55))
}

func TestAPauseOfTheReaderDoesNotCount(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) { flush(w, "ab") })
	client := newClient(t, func(c *media.Config) { c.Stall, c.Total = 3*time.Second, 3*time.Second })
	body := must.Get(client.FetchSegment(withTimeout(t), watch.Segment{URI: base + secret}))(t)
	defer func() { _ = body.Close() }()
	one := make([]byte, 1)
	must.Get(io.ReadFull(body, one))(t)
	<-time.After(3200 * time.Millisecond) // the pause is the subject of the test
	if rest, err := io.ReadAll(body); err != nil || string(rest) != "b" {
		t.Errorf("got %q, %v", rest, err)
	}
}

func TestACancelledReaderEndsTheFetch(t *testing.T) {
	base := serve(t, stall)
	ctx, cancel := context.WithCancel(withTimeout(t))
	body := must.Get(newClient(t, nil).FetchSegment(ctx, watch.Segment{URI: base + secret}))(t)
	defer func() { _ = body.Close() }()
	cancel()
	_, err := io.ReadAll(body)
	wantFailure(t, err, watch.FailureNetwork, "stopped")
}

func TestABrokenResponseIsAFailure(t *testing.T) {
	cases := map[string]struct {
		text      string
		byteRange *watch.ByteRange
		kind      watch.FailureKind
	}{
		"less than announced":                 {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234", nil, watch.FailureTruncated},
		"a byte range less than announced":    {"HTTP/1.1 206 OK\r\nContent-Range: bytes 0-9/10\r\nContent-Length: 10\r\n\r\n01234", byteRange(0, 10), watch.FailureTruncated},
		"a byte range shorter than requested": {"HTTP/1.1 206 OK\r\nContent-Range: bytes 0-4/5\r\nContent-Length: 5\r\n\r\n01234", byteRange(0, 10), watch.FailureTruncated},
		"chunks without an end":               {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n", nil, watch.FailureTruncated},
		"half a gzip":                         {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00", nil, watch.FailureTruncated},
		"an invalid gzip":                     {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n0123456789", nil, watch.FailureNetwork},
		"no response":                         {"", nil, watch.FailureNetwork},
		"half a header":                       {"HTTP/1.1 200 OK\r\nContent-Le", nil, watch.FailureNetwork},
		"something other than HTTP":           {"220 ftp.example.com\r\n", nil, watch.FailureNetwork},
		"a header without end":                {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", media.MaxHeader+4096), nil, watch.FailureNetwork},
	}
	for name, c := range cases {
		t.Run("a server that sends "+name, func(t *testing.T) {
			wantFetchFailure(t, newClient(t, nil), watch.Segment{URI: rawServer(t, c.text, false) + secret, Range: c.byteRange}, c.kind, "127.0.0.1")
		})
	}
	for _, url := range []string{"file:///etc/passwd", "ftp://127.0.0.1" + secret, "http://[::1" + secret, "//x" + secret, "http://" + secret} {
		t.Run("a URL that cannot be fetched: "+url[:5], func(t *testing.T) {
			wantFetchFailure(t, newClient(t, nil), watch.Segment{URI: url}, watch.FailureNetwork, "")
		})
	}
}

// listen returns a listener whose connections wait in its backlog.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	return listener
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
	proxy := must.Get(url.Parse("http://" + address))(t)
	return func(c *media.Config) { c.Proxy = http.ProxyURL(proxy) }
}

// An operator reads the host and the cause first. The error of the Go library follows.
func TestAFailureNamesTheHostThenTheCauseInPlainWords(t *testing.T) {
	ended := listen(t)
	_ = ended.Close()
	closed, silent := ended.Addr().String(), listen(t).Addr().String() // refuses, and never answers
	plain := strings.TrimPrefix(serve(t, func(http.ResponseWriter, *http.Request) {}), "http://")
	refusing := strings.TrimPrefix(serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
	}), "http://")
	resetting := strings.TrimPrefix(serve(t, with(httpfault.Reset())), "http://")
	hangingUp := strings.TrimPrefix(serve(t, with(httpfault.HangUp())), "http://")
	oldTLS := tlsServer(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	untrusted := tlsServer(t, nil)
	redirecting := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+closed+secret, http.StatusFound)
	})
	noNames := func(c *media.Config) { c.Resolver = outboundtest.DNSRecords{}.Resolver(t) }
	refusingNames := func(c *media.Config) {
		c.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", closed)
		}}
	}
	silentNames := func(c *media.Config) {
		c.Connect = 50 * time.Millisecond
		c.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", silent)
		}}
	}
	shortConnect := func(c *media.Config) { c.Connect = 50 * time.Millisecond }
	shortHeader := func(c *media.Config) { c.Header = 50 * time.Millisecond }

	for name, c := range map[string]struct {
		base   string
		change func(*media.Config)
		begins string
		quotes string
		down   bool // the server itself refuses or breaks off
	}{
		"a name that DNS does not have":         {"http://later.example", noNames, "later.example cannot be reached: DNS does not resolve later.example", "lookup later.example: no such host", false},
		"a name server that does not answer":    {"http://later.example", silentNames, "later.example cannot be reached: the DNS server does not answer for later.example", "i/o timeout", false},
		"a closed port":                         {"http://" + closed, nil, closed + " cannot be reached: it refuses the connection", "connection refused", true},
		"a closed port after a redirect":        {redirecting, nil, closed + " cannot be reached: it refuses the connection", "connection refused", true},
		"a certificate that is not trusted":     {untrusted, nil, strings.TrimPrefix(untrusted, "https://") + " cannot be reached: its TLS certificate is not trusted here", "x509: ", false},
		"a server with an old version of TLS":   {oldTLS, nil, strings.TrimPrefix(oldTLS, "https://") + " cannot be reached: the TLS handshake failed", "protocol version not supported", false},
		"a server without TLS":                  {"https://" + plain, nil, plain + " cannot be reached: it does not speak TLS", "", false},
		"a server that does not begin with TLS": {"https://" + silent, shortConnect, silent + " cannot be reached: timed out, it does not answer", "net/http: TLS handshake timeout", false},
		"a server that resets the connection":   {"http://" + resetting, nil, resetting + " gave no usable answer: it broke the connection", "connection reset", true},
		"a server that hangs up":                {"http://" + hangingUp, nil, hangingUp + " gave no usable answer: it closed the connection without an answer", "", true},
		"a server that resets behind a proxy":   {"http://media.example.com", throughProxy(t, resetting), "media.example.com gave no usable answer: it broke the connection", "connection reset", false},
		"a name server that refuses":            {"http://later.example", refusingNames, "later.example cannot be reached: DNS cannot look up later.example", "connection refused", false},
		"a server that sends no header":         {"http://" + silent, shortHeader, silent + " gave no usable answer: timed out, it does not answer", "net/http: timeout awaiting response headers", false},
		"a proxy that wants a password":         {"https://media.example.com", throughProxy(t, refusing), "media.example.com cannot be reached: the proxy refuses to connect to it", "the proxy answered 407", false},
		"a proxy that is not there":             {"https://media.example.com", throughProxy(t, closed), "media.example.com cannot be reached: the proxy refuses the connection", "connection refused", false},
		"an address that is not public":         {"http://" + closed, func(c *media.Config) { c.Control = nil }, closed + " is not asked: its address is not allowed", "public internet", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := newClient(t, c.change).Get(withTimeout(t), c.base+secret, 100)
			wantFailure(t, err, watch.FailureNetwork, c.quotes)
			if f, ok := errors.AsType[*watch.Failure](err); ok && !strings.HasPrefix(f.Detail, c.begins) {
				t.Errorf("detail = %q, want it to begin with %q", f.Detail, c.begins)
			} else if ok && f.Down != c.down {
				t.Errorf("the server counts as down: %v, want %v", f.Down, c.down)
			}
		})
	}
}
