//go:build linux

package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

// link is a TCP proxy whose connections can be disturbed.
type link struct {
	address string // that it listens on
	target  string

	mu        sync.Mutex
	disturbed *disturbance // nil: data passes at once
	listener  net.Listener
	conns     map[net.Conn]bool // of both sides
}

// disturbance says what a link does with the data of a fault.
type disturbance struct {
	drops  bool                          // data is read and not forwarded; the connections end with the fault
	resets time.Duration                 // with drops: a connection is reset after so long; 0: it stays open
	delay  func(bytes int) time.Duration // before a piece of data is forwarded; nil: none
	ended  chan struct{}                 // is closed at the end of the fault
}

// newLink listens on a free port and forwards connections to an address.
// Nothing needs to listen there yet.
func newLink(name, target string) (*link, error) {
	l := &link{address: localhost + ":0", target: target, conns: map[net.Conn]bool{}}
	if err := l.listen(); err != nil {
		return nil, fmt.Errorf("link to the %s: %w", name, err)
	}
	return l, nil
}

// listen begins to accept connections.
func (l *link) listen() error {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", l.address)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.listener, l.address = listener, listener.Addr().String()
	l.mu.Unlock()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go l.forward(c)
		}
	}()
	return nil
}

// close ends the link with its connections.
func (l *link) close() {
	l.mu.Lock()
	_ = l.listener.Close()
	l.mu.Unlock()
	l.closeConns()
}

func (l *link) closeConns() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Close()
	}
}

// forward forwards the data of a connection to the target and back until one of them ends.
func (l *link) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer server.Close()
	l.mu.Lock()
	l.conns[client], l.conns[server] = true, true
	d := l.disturbed
	l.mu.Unlock()
	if d != nil && d.resets > 0 {
		time.AfterFunc(d.resets, func() { reset(client, server) })
	}
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
		switch {
		case d == nil:
		case d.drops:
			n = 0
		default:
			select {
			case <-time.After(d.delay(n)):
			case <-d.ended:
			}
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// reset ends connections without the rest of their data: the peer gets an RST.
func reset(conns ...net.Conn) {
	for _, c := range conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// linkFault is what a fault does to a link; its parameter is 0 to 999.
type linkFault func(parameter int) *disturbance

func resetConnections(parameter int) *disturbance {
	return &disturbance{drops: true, resets: time.Duration(1+parameter%50) * time.Millisecond}
}

func dropData(int) *disturbance { return &disturbance{drops: true} }

func delayData(parameter int) *disturbance {
	return &disturbance{delay: func(int) time.Duration {
		jitter := rand.IntN(parameter/2+1) - parameter/4
		return time.Duration(100+parameter/2+jitter) * time.Millisecond
	}}
}

func limitBandwidth(parameter int) *disturbance {
	return &disturbance{delay: func(bytes int) time.Duration {
		return time.Duration(bytes) * time.Millisecond / time.Duration(2+parameter/100) // KB/s
	}}
}

// refuseConnections is no disturbance of data: the link stops listening.
func refuseConnections(int) *disturbance { return nil }

// disturb does what a fault does for a while.
func (l *link) disturb(ctx context.Context, d *disturbance, duration time.Duration) error {
	if d == nil {
		l.close()
		pause(ctx, duration)
		return l.listen()
	}
	d.ended = make(chan struct{})
	defer close(d.ended)
	l.mu.Lock()
	l.disturbed = d
	if d.resets > 0 {
		conns := slices.Collect(maps.Keys(l.conns))
		time.AfterFunc(d.resets, func() { reset(conns...) })
	}
	l.mu.Unlock()
	pause(ctx, duration)
	l.mu.Lock()
	l.disturbed = nil
	l.mu.Unlock()
	if d.drops {
		l.closeConns()
	}
	return nil
}

// freePort returns a port that a gateway keeps over its restarts. It is below the kernel's
// ephemeral ports, so that no outgoing connection takes the port of a gateway that has just ended.
func freePort() int {
	for {
		port := 20000 + rand.IntN(12000)
		if l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", localhost, port)); err == nil {
			_ = l.Close()
			return port
		}
	}
}
