package postgres

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// TCP limits that detect a lost peer: probes on an idle connection, and how long
// sent data may stay unacknowledged. A server that is only slow acknowledges.
const (
	tcpKeepAliveIdle     = 5 * time.Second
	tcpKeepAliveInterval = 2 * time.Second
	tcpKeepAliveCount    = 3
	tcpUserTimeout       = 3 * time.Second
)

// responseSlack is added to the longest statement: the longest wait for an answer.
const responseSlack = time.Second

// dial opens a network connection that detects a lost peer.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: tcpKeepAliveIdle, Interval: tcpKeepAliveInterval, Count: tcpKeepAliveCount},
		Control:         setUserTimeout,
	}
	return d.DialContext(ctx, network, address)
}

// boundConn is a network connection on which a context ends reads and writes. The
// driver alone asks the server to cancel, and then waits as long as the server is
// silent.
type boundConn struct {
	net.Conn

	ioTimeout time.Duration // longest wait for a byte; 0: none
	broken    atomic.Bool   // a read or write has failed

	mu       sync.Mutex
	ctx      context.Context // of the call under way; nil: none
	deadline time.Time       // set by the driver; zero: none
	waiting  int             // reads and writes under way: a listener reads while it writes
}

// bind makes ctx end reads and writes from now on; nil: no context does. The
// returned function must be called before the next bind.
func (c *boundConn) bind(ctx context.Context) (unbind func()) {
	c.mu.Lock()
	c.ctx = ctx
	c.mu.Unlock()
	if ctx == nil || ctx.Done() == nil {
		return func() {}
	}
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.ctx == ctx && c.waiting > 0 {
			_ = c.Conn.SetDeadline(time.Unix(1, 0)) // fails if it is closed, which ends the wait as well
		}
	})
	return func() { stop() }
}

func (c *boundConn) Read(p []byte) (int, error) {
	if err := c.begin("read", c.SetReadDeadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.end(err)
	return n, err
}

func (c *boundConn) Write(p []byte) (int, error) {
	if err := c.begin("write", c.SetWriteDeadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	c.end(err)
	return n, err
}

// begin sets the deadline of a read or write. It fails at once if the context is
// done.
func (c *boundConn) begin(operation string, setDeadline func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx != nil && c.ctx.Err() != nil {
		c.broken.Store(true)
		return &net.OpError{Op: operation, Net: c.RemoteAddr().Network(), Addr: c.RemoteAddr(), Err: os.ErrDeadlineExceeded}
	}
	deadline := c.deadline
	if c.ioTimeout > 0 {
		if own := time.Now().Add(c.ioTimeout); deadline.IsZero() || own.Before(deadline) {
			deadline = own
		}
	}
	if err := setDeadline(deadline); err != nil {
		c.broken.Store(true)
		return err
	}
	c.waiting++
	return nil
}

func (c *boundConn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting--
	if err != nil {
		c.broken.Store(true)
	}
}

// SetDeadline is called by the driver, which bounds its handshake with it.
func (c *boundConn) SetDeadline(deadline time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = deadline
	return nil
}
