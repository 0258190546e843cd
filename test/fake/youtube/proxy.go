package youtube

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// proxy answers CONNECT for YouTube's hosts and refuses everything else.
func (y *Server) proxy(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || err != nil || port != "443" || !ours(host) {
		y.mu.Lock()
		y.refused = append(y.refused, r.Host)
		y.mu.Unlock()
		http.Error(w, "this proxy leads to a stand-in for YouTube only", http.StatusForbidden)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = conn.SetDeadline(time.Time{})
	_, err = buffered.WriteString("HTTP/1.1 200 Connection established\r\n\r\n")
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil || buffered.Reader.Buffered() > 0 || !y.tunnels.hand(conn) {
		_ = conn.Close()
	}
}

func ours(host string) bool {
	host = strings.ToLower(host)
	for _, h := range hosts {
		if host == h || strings.HasSuffix(host, "."+h) {
			return true
		}
	}
	return false
}

// Refused lists the hosts asked for that are not YouTube's, in order.
func (y *Server) RefusedHosts() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return append([]string(nil), y.refused...)
}

// tunnels is the listener of the inner server: the connections that the proxy
// has let through.
type tunnels struct {
	addr   net.Addr
	config *tls.Config
	next   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newTunnels(addr net.Addr, c *tls.Config) *tunnels {
	return &tunnels{addr: addr, config: c, next: make(chan net.Conn), closed: make(chan struct{})}
}

// hand gives a connection to the inner server. False: it has been closed.
func (t *tunnels) hand(c net.Conn) bool {
	select {
	case t.next <- tls.Server(c, t.config):
		return true
	case <-t.closed:
		return false
	}
}

// Accept is net.Listener's.
func (t *tunnels) Accept() (net.Conn, error) {
	select {
	case c := <-t.next:
		return c, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

// Close is net.Listener's.
func (t *tunnels) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

// Addr is net.Listener's.
func (t *tunnels) Addr() net.Addr { return t.addr }
