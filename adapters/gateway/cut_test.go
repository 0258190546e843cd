package gateway_test

import (
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
)

// cutListener accepts connections. cut drops all further data of those that are open, without
// closing them, like a router that loses its state. New connections work.
type cutListener struct {
	net.Listener

	mu    sync.Mutex
	conns []*cutConn
}

// Accept implements net.Listener.
func (l *cutListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, &cutConn{Conn: c})
	return l.conns[len(l.conns)-1], nil
}

// cut cuts all connections and returns their number.
func (l *cutListener) cut() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.isCut.Store(true)
	}
	return len(l.conns)
}

type cutConn struct {
	net.Conn
	isCut atomic.Bool
}

// Read implements net.Conn.
func (c *cutConn) Read(b []byte) (n int, err error) {
	for {
		if n, err = c.Conn.Read(b); err != nil || !c.isCut.Load() {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *cutConn) Write(b []byte) (int, error) {
	if c.isCut.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func TestACutConnectionFailsOneAttempt(t *testing.T) {
	run := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"order":"run"}`) })
	for name, start := range map[string]func(*httptest.Server){
		"http":                     (*httptest.Server).Start,
		"https":                    (*httptest.Server).StartTLS,
		"https that speaks HTTP/2": func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(run)
			listener := &cutListener{Listener: server.Listener}
			server.Listener = listener
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
				if err := report(10 * time.Second); err != nil {
					t.Fatal(err)
				}
			}
			if n := listener.cut(); n != 1 {
				t.Errorf("two reports used %d connections", n)
			}
			if err := report(100 * time.Millisecond); err == nil {
				t.Error("a report on a cut connection succeeded")
			}
			if err := report(10 * time.Second); err != nil {
				t.Errorf("after a cut: %v", err)
			}
		})
	}
}
