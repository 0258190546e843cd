package outboundtest

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/expect"
)

// Control is the type of net.Dialer.Control.
type Control = func(network, address string, c syscall.RawConn) error

// Client is a client whose connections are checked, for one test.
type Client struct {
	Scheme string // of its URLs

	// Open makes the client. It resolves names by resolver, and guard wraps its Control.
	Open func(t *testing.T, resolver *net.Resolver, guard func(Control) Control) Request

	Refusal string // a part of the error if an address is refused
}

// Request requests a URL and returns why that failed.
type Request func(t *testing.T, url string) error

// publicAddress is where the names of Run lead first.
const publicAddress = "93.184.216.34"

// Run checks that a client connects to public addresses only, however a URL writes its host, and whatever
// a name leads to at the time.
func Run(t *testing.T, c Client) {
	t.Helper()
	t.Run("every spelling of a host", func(t *testing.T) {
		loopback := NewLoopbackServer(t)
		request := c.Open(t, Zone().Resolver(t), loopback.GuardDials)
		for _, host := range Cases() {
			t.Run(host.Name, func(t *testing.T) {
				err := request(t, host.URL(c.Scheme, loopback.Port))
				if host.Verdict == Allowed {
					loopback.requireAllowed(t, err, host.Address)
					return
				}
				loopback.requireAllowed(t, err)
				if host.Verdict == Refused && host.Address != "" && (err == nil || !strings.Contains(err.Error(), c.Refusal)) {
					t.Errorf("the error is %v, want a refusal", err)
				}
			})
		}
	})
	for name, then := range map[string]string{
		"a name that leads to loopback then":                "127.0.0.1",
		"a name that leads to another name then":            "=loop.example",
		"a name that leads to several inside then":          "127.0.0.1 10.0.0.1 ::1",
		"a name that leads to several, one of them outside": "127.0.0.1 " + publicAddress + " ::1",
	} {
		t.Run(name, func(t *testing.T) {
			loopback := NewLoopbackServer(t)
			request := c.Open(t, DNSRecords{"rebind.example": {publicAddress, then}, "loop.example": {"127.0.0.1"}}.Resolver(t), loopback.GuardDials)
			url := c.Scheme + "://rebind.example:" + loopback.Port
			loopback.requireAllowed(t, request(t, url), publicAddress)
			err := request(t, url)
			if strings.Contains(then, publicAddress) {
				loopback.requireAllowed(t, err, publicAddress)
				return
			}
			loopback.requireAllowed(t, err)
			expect.Failure(t, err, c.Refusal)
		})
	}
}

// requireAllowed fails the test unless exactly these addresses were allowed since the last call, no
// connection has arrived, and so the request has failed.
func (server *LoopbackServer) requireAllowed(t *testing.T, err error, addresses ...string) {
	t.Helper()
	var want []netip.Addr
	for _, address := range addresses {
		want = append(want, netip.MustParseAddr(address))
	}
	if allowed := server.AllowedAddrs(); !slices.Equal(allowed, want) || server.Connections() > 0 || err == nil {
		t.Errorf("connected to %v, want %v; %d connections arrived: %v", allowed, want, server.Connections(), err)
	}
	server.Reset()
}
