// Package tcpproxy forwards connections for tests, and disturbs them.
package tcpproxy

import (
	"net"
	"sync"
	"time"
)

// Proxy forwards what it accepts. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	dial     func(client net.Conn) (server net.Conn, err error)
	serving  sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	disturbed Disturbance
	conns     map[net.Conn]bool // of both sides
}

// Disturbance says what a proxy does with data. The zero value forwards it at once.
type Disturbance struct {
	Drops bool          // data is read and not forwarded
	Delay time.Duration // before a piece of data is forwarded
}

// Start forwards the connections of a listener until Close. dial connects a client with its server; a client
// is closed if that fails.
func Start(listener net.Listener, dial func(client net.Conn) (server net.Conn, err error)) *Proxy {
	p := &Proxy{listener: listener, dial: dial, conns: map[net.Conn]bool{}}
	p.serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.serving.Go(func() { p.forward(client) })
		}
	})
	return p
}

// To returns the dial of Start for an address. Nothing needs to listen there yet.
func To(network, address string) func(net.Conn) (net.Conn, error) {
	return func(net.Conn) (net.Conn, error) { return net.Dial(network, address) }
}

// Addr returns the address of the proxy.
func (p *Proxy) Addr() *net.TCPAddr { return p.listener.Addr().(*net.TCPAddr) }

// Close stops listening, ends the connections, and waits until all is over.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Reset(false)
	p.serving.Wait()
}

// Disturb disturbs data from now on.
func (p *Proxy) Disturb(d Disturbance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disturbed = d
}

// Reset ends all connections. Their peers get an RST, without the rest of the data, if it is hard.
func (p *Proxy) Reset(hard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok && hard {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// forward forwards the data of a connection and back until one side ends.
func (p *Proxy) forward(client net.Conn) {
	defer client.Close()
	server, err := p.dial(client)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.pipe(server, client) })
	both.Go(func() { p.pipe(client, server) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

// pipe forwards data in one direction. It closes the receiving side at its end.
func (p *Proxy) pipe(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		d := p.disturbed
		p.mu.Unlock()
		time.Sleep(d.Delay)
		if d.Drops {
			n = 0
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}
