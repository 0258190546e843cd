package acceptance_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/dns"
	"github.com/stream-monitor/stream-monitor/test/harness/netns"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// tunnels connect programs at YouTube's own address with the fake YouTube, whose certificate is
// valid for all hosts.
type tunnels struct {
	mu   sync.Mutex
	open []net.Conn
}

// serve connects what comes in at a listener until the test ends.
func (c *tunnels) serve(t *testing.T, l net.Listener) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			program, err := l.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.open = append(c.open, program)
			c.mu.Unlock()
			serving.Go(func() { forward(program) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.closeAll()
		serving.Wait()
	})
}

func (c *tunnels) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.open = nil
}

// forward connects a program with the fake YouTube until either closes.
func forward(program net.Conn) {
	defer program.Close()
	server, err := net.Dial("tcp", strings.TrimPrefix(shared.YouTube.Proxy(), "http://"))
	if err != nil {
		return
	}
	defer server.Close()
	_, err = fmt.Fprint(server, "CONNECT www.youtube.com:443 HTTP/1.1\r\nHost: www.youtube.com:443\r\n\r\n")
	if err != nil {
		return
	}
	// Nothing follows the answer until the program has sent something.
	if _, err := http.ReadResponse(bufio.NewReader(server), nil); err != nil {
		return
	}
	var up sync.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(server, program)
		_ = server.Close()
	})
	_, _ = io.Copy(program, server)
	_ = program.Close()
	up.Wait()
}

// The watch has no proxy. It is in a network namespace with a name server, which does not answer
// for half a minute, and YouTube's address. The picture goes black while the media cannot be read.
func TestASilentNameServerHidesNoBlackout(t *testing.T) { // sections 6.6 and 7.2
	runTimeline(t, 1)
	var env []string
	for _, line := range shared.YouTube.Env() {
		if name, _, _ := strings.Cut(line, "="); strings.HasSuffix(strings.ToLower(name), "_proxy") {
			line = name + "="
		}
		env = append(env, line)
	}
	f := newWatchCommand(t, env)
	address := netip.MustParseAddr("142.250.1.1") // the product connects only to public addresses
	namespace, err := netns.Start(f.cmd, netns.Config{
		Addresses: []netip.Addr{address},
		TCP:       []netip.AddrPort{netip.AddrPortFrom(address, 443)},
		UDP:       []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53")},
		Files: map[string]string{
			"/etc/resolv.conf":   "nameserver 127.0.0.1\n",
			"/etc/nsswitch.conf": "hosts: files dns\n",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	youtube := &tunnels{}
	youtube.serve(t, namespace.Listeners[0])
	names := dns.Serve(namespace.Packets[0], map[string]netip.Addr{"youtube.com": address, "googlevideo.com": address})
	t.Cleanup(func() { _ = names.Close() })
	f.waitChecked()

	names.Set(dns.Silent)
	youtube.closeAll() // only a new connection needs a name
	scenario.Sleep(t.Context(), 25*time.Second)
	black := f.Black(true)
	scenario.Sleep(t.Context(), 5*time.Second)
	names.Set(dns.Answering)
	f.endAfterBlackout(black)
	if !f.log.Contains("The stream's media could not be read") || !f.log.Contains("googlevideo.com") {
		t.Error("the log does not say that the media could not be read")
	}
}
