package outboundtest

import (
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
)

// Trap is a server on one port of both loopback addresses that counts what
// arrives, and a hold on what would leave the machine.
type Trap struct {
	Port string

	mu      sync.Mutex
	arrived int
	let     []netip.Addr
}

var errHeld = errors.New("held by the test")

// NewTrap starts a trap that answers every request with 200, and stops it with
// the test. A machine without IPv6 has it on 127.0.0.1 only.
func NewTrap(t *testing.T) *Trap {
	t.Helper()
	four, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listeners := []net.Listener{four}
	_, port, _ := net.SplitHostPort(four.Addr().String())
	if six, err := net.Listen("tcp6", "[::1]:"+port); err == nil {
		listeners = append(listeners, six)
	}
	trap := &Trap{Port: port}
	s := &http.Server{
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				trap.mu.Lock()
				trap.arrived++
				trap.mu.Unlock()
			}
		},
		ErrorLog: log.New(io.Discard, "", 0), // whoever is let in breaks the handshake off
	}
	var serving sync.WaitGroup
	for _, l := range listeners {
		serving.Go(func() { _ = s.Serve(l) })
	}
	t.Cleanup(func() { _ = s.Close(); serving.Wait() })
	return trap
}

// Hold puts the trap behind a control: what that lets go to this trap goes on,
// what it lets go elsewhere is noted and goes nowhere.
func (trap *Trap) Hold(control func(network, address string, c syscall.RawConn) error) func(network, address string, c syscall.RawConn) error {
	return func(network, address string, c syscall.RawConn) error {
		if err := control(network, address, c); err != nil {
			return err
		}
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return errHeld
		}
		trap.mu.Lock()
		defer trap.mu.Unlock()
		trap.let = append(trap.let, to.Addr())
		// The unspecified address is connected to as loopback is.
		if !to.Addr().IsLoopback() && !to.Addr().IsUnspecified() {
			return errHeld
		}
		return nil
	}
}

// Arrived is how many connections there were.
func (trap *Trap) Arrived() int {
	trap.mu.Lock()
	defer trap.mu.Unlock()
	return trap.arrived
}

// Let is the addresses that Hold's control let go.
func (trap *Trap) Let() []netip.Addr {
	trap.mu.Lock()
	defer trap.mu.Unlock()
	return slices.Clone(trap.let)
}

// Reset forgets what was counted and noted.
func (trap *Trap) Reset() {
	trap.mu.Lock()
	defer trap.mu.Unlock()
	trap.arrived, trap.let = 0, nil
}
