package youtube

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// proxy answers CONNECT for YouTube's hosts and the stand-in for yt-dlp. It refuses
// everything else.
func (y *Server) proxy(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.Host == y.address && r.URL.Path == recordingPath {
		y.serveRecording(w, r)
		return
	}
	host, port, err := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || err != nil || port != "443" || !isYouTube(host) {
		y.mu.Lock()
		y.refused = append(y.refused, r.Host)
		y.mu.Unlock()
		http.Error(w, "this proxy connects to the fake YouTube only", http.StatusForbidden)
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
	if err != nil || buffered.Reader.Buffered() > 0 || !y.tunnels.add(conn) {
		_ = conn.Close()
	}
}

// isYouTube reports whether the server answers for a host.
func isYouTube(host string) bool {
	host = strings.ToLower(host)
	for _, h := range hosts {
		if host == h || strings.HasSuffix(host, "."+h) {
			return true
		}
	}
	return false
}

// RefusedHosts returns the hosts of refused requests, in order.
func (y *Server) RefusedHosts() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return append([]string(nil), y.refused...)
}

// tunnelListener is the listener of the inner server. Its connections are the
// tunnels through the proxy.
type tunnelListener struct {
	addr   net.Addr
	config *tls.Config
	next   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newTunnelListener(addr net.Addr, c *tls.Config) *tunnelListener {
	return &tunnelListener{addr: addr, config: c, next: make(chan net.Conn), closed: make(chan struct{})}
}

// add passes a connection to the inner server. False: the listener is closed.
func (t *tunnelListener) add(c net.Conn) bool {
	select {
	case t.next <- tls.Server(c, t.config):
		return true
	case <-t.closed:
		return false
	}
}

// Accept implements net.Listener.
func (t *tunnelListener) Accept() (net.Conn, error) {
	select {
	case c := <-t.next:
		return c, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (t *tunnelListener) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

// Addr implements net.Listener.
func (t *tunnelListener) Addr() net.Addr { return t.addr }
