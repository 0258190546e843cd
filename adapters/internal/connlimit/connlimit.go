// Package connlimit limits the connections of an HTTP server, so that nobody can keep others
// from connecting (section 12.5).
//
// A connection is idle unless a request on it has been accepted (Accept). A new connection is
// never refused: beyond a limit, the one that has been idle for the longest time is closed.
package connlimit

import (
	"container/list"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// networkBits is the part of an IPv6 address that identifies a client. A host may
// use every address of its /64.
const networkBits = 64

// warnEvery is the minimum time between two warnings of a Limiter.
const warnEvery = time.Minute

// Config holds the limits of a Limiter.
type Config struct {
	Max     int            // connections in all; required
	MaxIdle int            // idle ones of each address (IPv6: network); 0: no limit of its own
	Apart   []netip.Prefix // addresses without MaxIdle, such as those of proxies
	Log     *slog.Logger   // gets a WARN a minute while connections give way; required
}

// Limiter limits the connections of one server. Its methods may be called concurrently.
type Limiter struct {
	cfg Config

	mu     sync.Mutex
	seq    int64 // counts what became idle
	conns  map[net.Conn]*connection
	idle   map[string]*list.List // of *connection by address, the longest idle one first
	warned time.Time
	closed int // since the last warning
}

// connection is one connection that has not ended.
type connection struct {
	limiter *Limiter
	conn    net.Conn
	address string
	apart   bool
	idle    *list.Element // nil: it is not idle
	since   int64         // which change made it idle
}

// contextKey is the key of a request's context for its connection.
type contextKey struct{}

// Limit makes a Limiter follow the connections of a server, which it must have to itself.
func Limit(server *http.Server, cfg Config) {
	l := &Limiter{cfg: cfg, conns: map[net.Conn]*connection{}, idle: map[string]*list.List{}}
	server.ConnContext, server.ConnState = l.begin, l.follow
}

// begin counts a new connection, and notes it in the context of its requests.
func (l *Limiter) begin(ctx context.Context, conn net.Conn) context.Context {
	c := &connection{limiter: l, conn: conn}
	c.address, c.apart = l.addressOf(conn)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[conn] = c
	l.addIdle(c)
	l.makeRoom(c)
	return context.WithValue(ctx, contextKey{}, c)
}

// Accept keeps the connection of a request until the request has ended: whoever sent it may do
// so. It does nothing for requests of other servers.
func Accept(ctx context.Context) {
	if c, _ := ctx.Value(contextKey{}).(*connection); c != nil {
		c.limiter.mu.Lock()
		defer c.limiter.mu.Unlock()
		c.limiter.removeIdle(c)
	}
}

// follow notes the state of a connection. Any sign of life of one that is idle makes it the
// newest of its address.
func (l *Limiter) follow(conn net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.conns[conn]
	switch {
	case c == nil: // it gave way
	case state == http.StateClosed || state == http.StateHijacked:
		l.remove(c)
	case state == http.StateIdle || c.idle != nil:
		l.removeIdle(c)
		l.addIdle(c)
		l.makeRoom(c)
	}
}

// addressOf returns the address that a connection is counted for, and whether it is apart.
func (l *Limiter) addressOf(conn net.Conn) (address string, apart bool) {
	remote, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return conn.RemoteAddr().String(), false
	}
	ip := remote.Addr().Unmap().WithZone("")
	return ClientAddress(ip), slices.ContainsFunc(l.cfg.Apart, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// ClientAddress returns the IPv4 address or the IPv6 network that identifies a client.
func ClientAddress(ip netip.Addr) string {
	ip = ip.Unmap()
	if network, err := ip.Prefix(networkBits); err == nil { // IPv4 has no 64 bits
		return network.String()
	}
	return ip.String()
}

func (l *Limiter) addIdle(c *connection) {
	of := l.idle[c.address]
	if of == nil {
		of = list.New()
		l.idle[c.address] = of
	}
	l.seq++
	c.idle, c.since = of.PushBack(c), l.seq
}

func (l *Limiter) removeIdle(c *connection) {
	if c.idle == nil {
		return
	}
	of := l.idle[c.address]
	of.Remove(c.idle)
	c.idle = nil
	if of.Len() == 0 {
		delete(l.idle, c.address)
	}
}

func (l *Limiter) remove(c *connection) {
	l.removeIdle(c)
	delete(l.conns, c.conn)
}

// makeRoom closes the longest idle connection of the address of c, or of the address with the
// most of them, if there are too many.
func (l *Limiter) makeRoom(c *connection) {
	of := l.idle[c.address]
	switch {
	case l.cfg.MaxIdle > 0 && !c.apart && of.Len() > l.cfg.MaxIdle:
		l.close(of)
	case len(l.conns) > l.cfg.Max:
		l.close(l.mostIdle())
	}
}

// mostIdle returns the connections of the address with the most idle ones; of several, that with
// the longest idle one. One that is apart is taken only if there is no other.
func (l *Limiter) mostIdle() (most *list.List) {
	for _, of := range l.idle {
		if most == nil {
			most = of
			continue
		}
		c, first := longest(of), longest(most)
		if c.apart == first.apart && (of.Len() > most.Len() || of.Len() == most.Len() && c.since < first.since) || first.apart && !c.apart {
			most = of
		}
	}
	return most
}

func longest(of *list.List) *connection {
	return of.Front().Value.(*connection) //nolint:forcetypeassert // the list has only these
}

// close closes the longest idle of some connections of one address.
func (l *Limiter) close(of *list.List) {
	idle := of.Len()
	c := longest(of)
	l.remove(c)
	conn := c.conn
	if secure, is := conn.(*tls.Conn); is {
		conn = secure.NetConn() // the alert of TLS would wait for the client
	}
	_ = conn.Close()
	l.closed++
	if now := time.Now(); now.Sub(l.warned) >= warnEvery {
		log := l.cfg.Log
		log.Warn("idle connections are closed to make room for new ones: find out why this client opens so many, a proxy belongs in TRUSTED_PROXIES",
			"client", c.address, "idle", idle, "closed", l.closed)
		l.warned, l.closed = now, 0
	}
}
