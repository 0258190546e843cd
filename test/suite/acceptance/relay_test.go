package acceptance_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// relay forwards connections to the fake YouTube. It is either an HTTP
// proxy or a server at YouTube's own address.
//
//	program ──CONNECT host:443──▶ relay ──CONNECT host:443──▶ fake
//	program ──TLS───────────────▶ relay ──CONNECT www…:443──▶ fake
type relay struct {
	forwarding sync.WaitGroup

	mu       sync.Mutex
	upstream string // host:port of the fake's proxy
	clients  map[net.Conn]bool
	refusal  int // status that CONNECT is answered with; 0: it is forwarded
	refused  int // refused CONNECTs
}

func newRelay() *relay { return &relay{clients: map[net.Conn]bool{}} }

// forwardTo sets the proxy of the fake YouTube.
func (rl *relay) forwardTo(proxy string) {
	rl.mu.Lock()
	defer rl.mu.Unlock()
	rl.upstream = strings.TrimPrefix(proxy, "http://")
}

// refuse makes the proxy answer every CONNECT with a status, as one that cannot
// resolve the host; 0: it forwards again. Open connections are closed.
func (rl *relay) refuse(status int) {
	rl.mu.Lock()
	rl.refusal = status
	rl.mu.Unlock()
	rl.closeConnections()
}

// closeConnections closes every connection.
func (rl *relay) closeConnections() {
	rl.mu.Lock()
	defer rl.mu.Unlock()
	for c := range rl.clients {
		_ = c.Close()
	}
}

// serveProxy serves as a proxy until the test ends, and returns its URL.
func (rl *relay) serveProxy(t *testing.T) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rl.mu.Lock()
			refusal := rl.refusal
			if refusal != 0 {
				rl.refused++
			}
			rl.mu.Unlock()
			if refusal != 0 {
				http.Error(w, "could not resolve "+r.URL.Hostname(), refusal)
				return
			}
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Time{})
			if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
				_ = conn.Close()
				return
			}
			rl.forward(conn, r.Host)
		}),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
		rl.closeConnections()
		rl.forwarding.Wait()
	})
	return "http://" + l.Addr().String()
}

// serveTLS serves at YouTube's own address until the test ends.
func (rl *relay) serveTLS(t *testing.T, l net.Listener) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			rl.forward(conn, "www.youtube.com:443") // its certificate is valid for all hosts
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
		rl.closeConnections()
		rl.forwarding.Wait()
	})
}

// forward connects a program with a host of the fake YouTube until either closes.
func (rl *relay) forward(program net.Conn, host string) {
	rl.mu.Lock()
	rl.clients[program] = true
	rl.mu.Unlock()
	rl.forwarding.Go(func() {
		defer func() {
			_ = program.Close()
			rl.mu.Lock()
			delete(rl.clients, program)
			rl.mu.Unlock()
		}()
		server, err := rl.dial(host)
		if err != nil {
			return
		}
		defer server.Close()
		var up sync.WaitGroup
		up.Go(func() {
			_, _ = io.Copy(server, program)
			_ = server.Close()
		})
		_, _ = io.Copy(program, server)
		_ = program.Close()
		up.Wait()
	})
}

func (rl *relay) dial(host string) (net.Conn, error) {
	rl.mu.Lock()
	address := rl.upstream
	rl.mu.Unlock()
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
	if err == nil {
		var answer *http.Response
		// Nothing follows the answer until the program has sent something.
		if answer, err = http.ReadResponse(bufio.NewReader(conn), nil); err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}
