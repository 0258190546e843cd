//go:build linux

package main

import (
	"cmp"
	"context"
	"net"
	"sync"
	"time"
)

// link is a TCP proxy whose connections can be disturbed.
type link struct {
	address         string // that it listens on
	network, target string // where it leads; nothing needs to listen there yet

	listener net.Listener

	mu        sync.Mutex
	disturbed *disturbance      // nil: data passes at once
	conns     map[net.Conn]bool // of both sides
}

// disturbance says what a link does with connections and data.
type disturbance struct {
	drops  bool          // data is read and not forwarded; the connections end with the fault
	resets time.Duration // with drops: a connection is reset after so long; 0: it stays open
	delay  time.Duration // before a piece of data is forwarded
}

var (
	resetting = disturbance{drops: true, resets: 20 * time.Millisecond}
	silent    = disturbance{drops: true}
	slow      = disturbance{delay: 350 * time.Millisecond}
)

// newLink listens on a free port and forwards connections to an address.
func newLink(network, target string) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{address: listener.Addr().String(), network: network, target: target, listener: listener, conns: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go l.forward(c)
		}
	}()
	return l, nil
}

// close ends the connections and stops listening.
func (l *link) close() {
	_ = l.listener.Close()
	l.reset(false)
}

// reset ends all connections. Their peers get an RST, without the rest of the data, if it is hard.
func (l *link) reset(hard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if tcp, ok := c.(*net.TCPConn); ok && hard {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// forward forwards the data of a connection to the target and back until one of them ends.
func (l *link) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial(l.network, l.target)
	if err != nil {
		return
	}
	defer server.Close()
	l.mu.Lock()
	l.conns[client], l.conns[server] = true, true
	l.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.pipe(server, client) })
	both.Go(func() { l.pipe(client, server) })
	both.Wait()
	l.mu.Lock()
	delete(l.conns, client)
	delete(l.conns, server)
	l.mu.Unlock()
}

// pipe forwards data in one direction. It closes the receiving side at its end.
func (l *link) pipe(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.mu.Lock()
		d := l.disturbed
		l.mu.Unlock()
		if d != nil {
			time.Sleep(d.delay)
			if d.drops {
				n = 0
			}
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// disturb does what a fault does for a while.
func (l *link) disturb(ctx context.Context, d disturbance, duration time.Duration) {
	set := func(d *disturbance) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.disturbed = d
	}
	set(&d)
	for until := time.Now().Add(duration); ctx.Err() == nil && time.Now().Before(until); {
		pause(ctx, cmp.Or(d.resets, duration))
		if d.drops {
			l.reset(d.resets > 0)
		}
	}
	set(nil)
}
