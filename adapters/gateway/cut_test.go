package gateway_test

import (
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

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
