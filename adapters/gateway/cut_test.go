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

// wire passes connections on to a server. Those that are up when it is cut fall
// silent, as where a router forgets them; new ones are passed on.
type wire struct {
	listener net.Listener
	to       string
	all      sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	cuts  []chan struct{} // one for each connection of conns; closed: it is silent
}

func lay(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: listener, to: to}
	w.all.Go(w.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		w.mu.Lock()
		for _, c := range w.conns {
			_ = c.Close()
		}
		w.mu.Unlock()
		w.all.Wait()
	})
	return w
}

func (w *wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		cut := make(chan struct{})
		w.mu.Lock()
		w.conns, w.cuts = append(w.conns, near, far), append(w.cuts, cut)
		w.mu.Unlock()
		w.all.Go(func() { pass(near, far, cut) })
		w.all.Go(func() { pass(far, near, cut) })
	}
}

func pass(from, to net.Conn, cut chan struct{}) {
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		select {
		case <-cut: // what comes is lost
		default:
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
	}
}

// cut silences all connections and returns how many there have been.
func (w *wire) cut() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.cuts {
		close(c)
	}
	n := len(w.cuts)
	w.cuts = nil
	return n
}

func TestACutConnectionCostsOneTry(t *testing.T) {
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
			w := lay(t, server.Listener.Addr().String())
			scheme, cfg := "http://", gateway.Config{}
			if cert := server.Certificate(); cert != nil {
				cfg.RootCAs = x509.NewCertPool()
				cfg.RootCAs.AddCert(cert)
				scheme = "https://"
			}
			g := client(t, scheme+w.listener.Addr().String(), cfg)
			report := func(limit time.Duration) error {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				_, err := g.Report(ctx, anID, report(0))
				return err
			}
			for range 2 {
				if err := report(10 * time.Second); err != nil {
					t.Fatal(err)
				}
			}
			if n := w.cut(); n != 1 {
				t.Errorf("%d connections were used for two reports", n)
			}
			if err := report(100 * time.Millisecond); err == nil {
				t.Error("a report got through a connection that is cut")
			}
			if err := report(10 * time.Second); err != nil {
				t.Errorf("after a cut: %v", err)
			}
		})
	}
}
