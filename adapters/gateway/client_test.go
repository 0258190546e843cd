package gateway_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

var _ worker.Gateway = (*gateway.Client)(nil)

const (
	monitorID   = monitor.ID("mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d")
	internalKey = "the internal key"
)

var noon = time.Date(2024, 1, 15, 12, 0, 0, 123456789, time.UTC)

// clientOf makes a client of a server with handler.
func clientOf(t *testing.T, cfg gateway.Config, handler http.HandlerFunc) *gateway.Client {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return client(t, s.URL, cfg)
}

func client(t *testing.T, base string, cfg gateway.Config) *gateway.Client {
	t.Helper()
	c := must.Get(gateway.New(base, internalKey, cfg))(t)
	t.Cleanup(c.Close)
	return c
}

// workerOf makes the client of a monitor's worker.
func workerOf(t *testing.T, base string, id monitor.ID, generation int) *gateway.Client {
	t.Helper()
	c := must.Get(gateway.New(base+"/", monitor.NewTokenKey(internalKey).Token(id, generation), gateway.Config{}))(t)
	t.Cleanup(c.Close)
	return c
}

func report(events int) monitor.Report {
	r := monitor.Report{
		Generation:   2,
		At:           noon,
		SentAt:       noon.Add(time.Second),
		Status:       monitor.Completed,
		StreamStatus: monitor.StreamEnded,
		Health: monitor.Health{Video: monitor.OK, Audio: monitor.Silent, LastCheckAt: noon,
			Conditions: []monitor.DetectorState{{Detector: detector.Silence, State: monitor.Silent, Since: noon, Alerted: true, Values: map[string]float64{"level": 1.5}}},
			Renditions: []monitor.RenditionState{{Height: 720, Bandwidth: 2_800_000, State: detector.RenditionBlack, LookedAt: noon}}},
		Statistics: monitor.Statistics{TotalSegmentsAnalyzed: 5}.With(detector.Blackout, 1).With(detector.Silence, 2),
		Visibility: &monitor.Visibility{LastError: "DNS does not resolve www.youtube.com", BlindSince: noon.Add(-5 * time.Minute), LastObservedAt: noon.Add(-time.Minute), Unseen: monitor.Unseen{Since: noon.Add(-time.Minute), Class: monitor.NoDNS, Egress: "first"}},
		Signals:    []monitor.Signal{{Condition: trouble.NoMedia, StartedAt: noon.Add(-time.Minute)}, {Condition: trouble.Blind, StartedAt: noon.Add(-time.Hour), EndedAt: noon}},
		Snapshot:   json.RawMessage(`{"v":1}`),
	}
	for n := range events {
		r.Events = append(r.Events, event.Event{
			ID:   fmt.Sprintf("0190a5d0-1c2b-7d8a-9c1d-%012d", n),
			Type: event.StreamEnded,
			At:   noon,
			Data: event.Ended{EndedAt: noon, Reason: event.EndedByEndlist},
		})
	}
	return r
}

func TestOnlyAnErrorOfTheGatewayIsFinal(t *testing.T) {
	envelope := func(status int, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"code":%q,"message":"the reason"}}`, code)
		}
	}
	for name, c := range map[string]struct {
		handler  http.HandlerFunc
		expected string // superseded, not found, rejected, unauthorized, internal, conflict, quota; or a part of the message of any other error
	}{
		"409 SUPERSEDED":               {envelope(409, "SUPERSEDED"), "superseded"},
		"404 MONITOR_NOT_FOUND":        {envelope(404, "MONITOR_NOT_FOUND"), "not found"},
		"400 INVALID_CONFIG":           {envelope(400, "INVALID_CONFIG"), "rejected"},
		"413 BODY_TOO_LARGE":           {envelope(413, "BODY_TOO_LARGE"), "rejected"},
		"400 of a proxy":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, "HTTP 400 without the gateway's error code"},
		"413 of a proxy":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) }, "HTTP 413 without the gateway's error code"},
		"409 EVIDENCE_CONFLICT":        {envelope(409, string(evidence.Conflict)), "conflict"},
		"429 of the quota":             {envelope(429, string(evidence.QuotaExceeded)), "quota"},
		"429 of another kind":          {envelope(429, "RATE_LIMITED"), "HTTP 429 RATE_LIMITED: the reason"},
		"408":                          {envelope(408, "REQUEST_TIMEOUT"), "HTTP 408 REQUEST_TIMEOUT: the reason"},
		"404 of another port":          {envelope(404, "ROUTE_NOT_FOUND"), "HTTP 404 ROUTE_NOT_FOUND: the reason"},
		"404 of a proxy":               {http.NotFound, "HTTP 404 without the gateway's error code"},
		"409 of a proxy":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) }, "HTTP 409 without the gateway's error code"},
		"409 of another kind":          {envelope(409, "DUPLICATE_MONITOR"), "HTTP 409 DUPLICATE_MONITOR: the reason"},
		"401":                          {envelope(401, "UNAUTHORIZED"), "unauthorized"},
		"500":                          {envelope(500, "INTERNAL_ERROR"), "internal"},
		"503":                          {envelope(503, "UNAVAILABLE"), "internal"},
		"503 of a proxy":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "HTTP 503 without the gateway's error code"},
		"a redirect":                   {http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect).ServeHTTP, "HTTP 307"},
		"no JSON":                      {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, "cannot be decoded"},
		"an empty object":              {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }, "the response "},
		"a response that is too large": {func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 2<<20)) }, "larger than"},
		"a response that is cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			w.Write([]byte("{"))
		}, "read the response"},
	} {
		t.Run(name, func(t *testing.T) {
			g := clientOf(t, gateway.Config{}, c.handler)
			_, assignErr := g.Assignment(context.Background(), monitorID, 1)
			_, reportErr := g.Report(context.Background(), monitorID, report(0))
			for _, err := range []error{assignErr, reportErr} {
				var coded *monitor.Error
				kind := "" // not of the gateway
				switch {
				case errors.Is(err, monitor.ErrSuperseded):
					kind = "superseded"
				case errors.As(err, &coded):
					kind = map[monitor.Code]string{monitor.NotFound: "not found", monitor.InvalidConfig: "rejected", monitor.Unauthorized: "unauthorized", monitor.Internal: "internal", evidence.Conflict: "conflict", evidence.QuotaExceeded: "quota"}[coded.Code]
				}
				switch {
				case err == nil:
					t.Error("no error")
				case kind != "" && kind != c.expected:
					t.Errorf("error is %v, which is %q, expected %q", err, kind, c.expected)
				case coded != nil && !strings.HasSuffix(coded.Message, "the reason"):
					t.Errorf("error is %v, expected the gateway's message", err)
				case kind == "" && !strings.Contains(err.Error(), c.expected):
					t.Errorf("error is %v, expected %q", err, c.expected)
				case strings.Contains(err.Error(), internalKey):
					t.Errorf("the error contains the key: %v", err)
				}
			}
		})
	}
}

func TestAnExchangeEndsAfterItsTimeout(t *testing.T) {
	done := make(chan struct{})
	g := clientOf(t, gateway.Config{Timeout: 20 * time.Millisecond}, func(http.ResponseWriter, *http.Request) { <-done })
	defer close(done)
	expect.Failed(g.Report(context.Background(), monitorID, report(0)))(t, "report to the gateway")
}

// A node that is gone answers no SYN; no address answers within a nanosecond.
func TestAnUnresponsiveAddressFailsAfterTheConnectTimeout(t *testing.T) {
	g := clientOf(t, gateway.Config{ConnectTimeout: time.Nanosecond}, http.NotFound)
	_, err := g.Report(t.Context(), monitorID, report(0))
	if dial, is := errors.AsType[*net.OpError](err); !is || dial.Op != "dial" || !dial.Timeout() {
		t.Errorf("error is %v", err)
	}
}

// TestMain sets a proxy that does not exist, before net/http reads the variables once.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		os.Setenv(name, "http://127.0.0.1:1")
	}
	os.Unsetenv("NO_PROXY")
	os.Unsetenv("no_proxy")
	os.Exit(m.Run())
}

func TestNoProxyIsUsed(t *testing.T) {
	// A name is needed: net/http never uses a proxy for a loopback address.
	g := client(t, "http://gateway.invalid:8081", gateway.Config{Timeout: 5 * time.Second})
	_, err := g.Report(context.Background(), monitorID, report(0))
	if err == nil || strings.Contains(err.Error(), "proxyconnect") || strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("error is %v", err)
	}
}

func TestNothingOlderThanTLS12IsSpoken(t *testing.T) {
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	old.StartTLS()
	defer old.Close()
	roots := x509.NewCertPool()
	roots.AddCert(old.Certificate())
	expect.Failed(client(t, old.URL, gateway.Config{RootCAs: roots}).Report(context.Background(), monitorID, report(0)))(t, "protocol version")
}

func TestAnInvalidBaseURLOrKeyIsRejected(t *testing.T) {
	for name, c := range map[string]struct{ base, key string }{
		"no base URL":      {"", internalKey},
		"no scheme":        {"gateway:8081", internalKey},
		"another scheme":   {"ftp://gateway", internalKey},
		"no host":          {"http://", internalKey},
		"a query":          {"http://gateway?x=1", internalKey},
		"a password in it": {"http://a:b@gateway", internalKey},
		"no key":           {"http://gateway:8081", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := gateway.New(c.base, c.key, gateway.Config{}); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestACertificateFileMakesItsGatewayTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // ignores the failed handshake
	server.StartTLS()
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "cert.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	must.Do(t, os.WriteFile(file, text, 0o600))
	roots := must.Get(gateway.Roots(file))(t)
	for name, cfg := range map[string]gateway.Config{"with it": {RootCAs: roots}, "without it": {}} {
		_, err := client(t, server.URL, cfg).Assignment(t.Context(), monitorID, 1)
		distrusted := err != nil && strings.Contains(err.Error(), "x509")
		if distrusted != (cfg.RootCAs == nil) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	for _, path := range []string{file + "x", os.Args[0]} { // the one is not there, the other holds no certificate
		expect.Failed(gateway.Roots(path))(t, path)
	}
}

// A connection that a router has forgotten drops all that is sent. New connections work.
func TestACutConnectionFailsOneAttempt(t *testing.T) {
	type key struct{}
	for name, start := range map[string]func(*httptest.Server){
		"http":                     (*httptest.Server).Start,
		"https":                    (*httptest.Server).StartTLS,
		"https that speaks HTTP/2": func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	} {
		t.Run(name, func(t *testing.T) {
			var cut []*atomic.Bool // of each connection
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client has gone
				if r.Context().Value(key{}).(*atomic.Bool).Load() {
					<-r.Context().Done()
					return
				}
				io.WriteString(w, `{"order":"run"}`)
			}))
			server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
				cut = append(cut, &atomic.Bool{})
				return context.WithValue(ctx, key{}, cut[len(cut)-1])
			}
			start(server)
			defer server.Close()
			cfg := gateway.Config{}
			if cert := server.Certificate(); cert != nil {
				cfg.RootCAs = x509.NewCertPool()
				cfg.RootCAs.AddCert(cert)
			}
			g := client(t, server.URL, cfg)
			report := func(limit time.Duration) error {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				_, err := g.Report(ctx, monitorID, report(0))
				return err
			}
			for range 2 {
				must.Do(t, report(10*time.Second))
			}
			if len(cut) != 1 {
				t.Errorf("two reports used %d connections", len(cut))
			}
			cut[0].Store(true)
			if err := report(100 * time.Millisecond); err == nil {
				t.Error("a report on a cut connection succeeded")
			}
			if err := report(10 * time.Second); err != nil {
				t.Errorf("after a cut: %v", err)
			}
		})
	}
}
