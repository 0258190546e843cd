package gateway_test

import (
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
)

// proxy is a TCP proxy. cut drops all further data of the open connections without
// closing them, like a router that loses its state. New connections work.
type proxy struct {
	listener net.Listener
	backend  string
	running  sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	cuts  []chan struct{} // one per client connection; closed: its data are dropped
}

func startProxy(t *testing.T, backend string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, backend: backend}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.running.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.backend)
		if err != nil {
			_ = client.Close()
			continue
		}
		cut := make(chan struct{})
		p.mu.Lock()
		p.conns, p.cuts = append(p.conns, client, server), append(p.cuts, cut)
		p.mu.Unlock()
		p.running.Go(func() { forward(client, server, cut) })
		p.running.Go(func() { forward(server, client, cut) })
	}
}

func forward(from, to net.Conn, cut chan struct{}) {
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		select {
		case <-cut: // drop the data
		default:
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
	}
}

// cut cuts all connections and returns their number.
func (p *proxy) cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.cuts {
		close(c)
	}
	n := len(p.cuts)
	p.cuts = nil
	return n
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
			start(server)
			defer server.Close()
			p := startProxy(t, server.Listener.Addr().String())
			scheme, cfg := "http://", gateway.Config{}
			if cert := server.Certificate(); cert != nil {
				cfg.RootCAs = x509.NewCertPool()
				cfg.RootCAs.AddCert(cert)
				scheme = "https://"
			}
			g := client(t, scheme+p.listener.Addr().String(), cfg)
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
			if n := p.cut(); n != 1 {
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
