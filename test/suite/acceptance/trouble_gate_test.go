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

// gate stands before the stand-in for YouTube, either as a proxy or as
// YouTube's own address, and hands connections on to it as they are.
//
//	program ──CONNECT host:443──▶ gate ──CONNECT host:443──▶ stand-in
//	program ──TLS───────────────▶ gate ──CONNECT www…:443──▶ stand-in
type gate struct {
	gone sync.WaitGroup

	mu      sync.Mutex
	standIn string // host:port of its proxy
	through map[net.Conn]bool
	refusal int // status that CONNECT is answered with; 0: none
	refused int // times that it was
}

func newGate() *gate { return &gate{through: map[net.Conn]bool{}} }

// leads says where the stand-in's proxy is.
func (g *gate) leads(proxy string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.standIn = strings.TrimPrefix(proxy, "http://")
}

// unresolving has the proxy find no host any more, which it says with a status;
// 0: it finds them again. What has been connected is cut off.
func (g *gate) unresolving(status int) {
	g.mu.Lock()
	g.refusal = status
	g.mu.Unlock()
	g.cut()
}

// cut breaks every connection.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.through {
		_ = c.Close()
	}
}

// serveProxy is the gate as a proxy, until the test ends. It returns its address.
func (g *gate) serveProxy(t *testing.T) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g.mu.Lock()
			refusal := g.refusal
			if refusal != 0 {
				g.refused++
			}
			g.mu.Unlock()
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
			g.join(conn, r.Host)
		}),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
		g.cut()
		g.gone.Wait()
	})
	return "http://" + l.Addr().String()
}

// serveTLS is the gate as YouTube's own address, until the test ends.
func (g *gate) serveTLS(t *testing.T, l net.Listener) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // it has been closed
			}
			g.join(conn, "www.youtube.com:443") // its certificate is good for all of its hosts
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
		g.cut()
		g.gone.Wait()
	})
}

// join connects a program with a host of the stand-in's, for as long as both
// want.
func (g *gate) join(program net.Conn, host string) {
	g.mu.Lock()
	g.through[program] = true
	g.mu.Unlock()
	g.gone.Go(func() {
		defer func() {
			_ = program.Close()
			g.mu.Lock()
			delete(g.through, program)
			g.mu.Unlock()
		}()
		standIn, err := g.dial(host)
		if err != nil {
			return
		}
		defer standIn.Close()
		var up sync.WaitGroup
		up.Go(func() {
			_, _ = io.Copy(standIn, program)
			_ = standIn.Close()
		})
		_, _ = io.Copy(program, standIn)
		_ = program.Close()
		up.Wait()
	})
}

func (g *gate) dial(host string) (net.Conn, error) {
	g.mu.Lock()
	address := g.standIn
	g.mu.Unlock()
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
	if err == nil {
		var answer *http.Response
		// Nothing comes after the answer until the program has spoken.
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
