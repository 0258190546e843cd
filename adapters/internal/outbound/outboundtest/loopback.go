package outboundtest

import (
	"bufio"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// LoopbackServer is an HTTP server on the same port of 127.0.0.1 and ::1. It counts
// connections, and GuardDials keeps dials from leaving the machine.
type LoopbackServer struct {
	Port string

	mu          sync.Mutex
	connections int
	allowed     []netip.Addr
}

var errNotLoopback = errors.New("the test allows dials to loopback only")

// NewLoopbackServer starts a server that answers every request with 200 until the test
// ends. Without IPv6 it listens on 127.0.0.1 only.
func NewLoopbackServer(t *testing.T) *LoopbackServer {
	t.Helper()
	ipv4 := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	listeners := []net.Listener{ipv4}
	_, port, _ := net.SplitHostPort(ipv4.Addr().String())
	if ipv6, err := net.Listen("tcp6", "[::1]:"+port); err == nil {
		listeners = append(listeners, ipv6)
	}
	server := &LoopbackServer{Port: port}
	httpServer := &http.Server{
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				server.mu.Lock()
				server.connections++
				server.mu.Unlock()
			}
		},
		ErrorLog: log.New(io.Discard, "", 0), // a client that is allowed breaks off the handshake
	}
	var serving sync.WaitGroup
	for _, l := range listeners {
		serving.Go(func() { _ = httpServer.Serve(l) })
	}
	t.Cleanup(func() { _ = httpServer.Close(); serving.Wait() })
	return server
}

// GuardDials wraps a net.Dialer.Control. It records every address that control allows,
// and refuses those that are not on loopback.
func (server *LoopbackServer) GuardDials(control Control) Control {
	return func(network, address string, c syscall.RawConn) error {
		if err := control(network, address, c); err != nil {
			return err
		}
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return errNotLoopback
		}
		server.mu.Lock()
		defer server.mu.Unlock()
		server.allowed = append(server.allowed, to.Addr())
		// The kernel connects the unspecified address to loopback.
		if !to.Addr().IsLoopback() && !to.Addr().IsUnspecified() {
			return errNotLoopback
		}
		return nil
	}
}

// Connections returns how many connections were accepted.
func (server *LoopbackServer) Connections() int {
	server.mu.Lock()
	defer server.mu.Unlock()
	return server.connections
}

// AllowedAddrs returns the addresses that the wrapped Control allowed.
func (server *LoopbackServer) AllowedAddrs() []netip.Addr {
	server.mu.Lock()
	defer server.mu.Unlock()
	return slices.Clone(server.allowed)
}

// Reset clears the count and the addresses.
func (server *LoopbackServer) Reset() {
	server.mu.Lock()
	defer server.mu.Unlock()
	server.connections, server.allowed = 0, nil
}

// RawServer starts a server that passes each connection to answer once it has read a request, until the
// test ends. It returns its URL.
func RawServer(t *testing.T, answer func(net.Conn)) (url string) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					answer(conn)
				}
			})
		}
	})
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	return "http://" + listener.Addr().String()
}

// Drip sends head, and then a drop again and again until the other side hangs up.
func Drip(c net.Conn, head, drop string) {
	_, err := io.WriteString(c, head)
	for drops := time.NewTicker(5 * time.Millisecond); err == nil; <-drops.C {
		_, err = io.WriteString(c, drop)
	}
}
