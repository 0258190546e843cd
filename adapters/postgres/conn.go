package postgres

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// TCP limits that detect a lost server. Keepalive probes test an idle connection;
// tcpUserTimeout limits how long sent data may stay unacknowledged. The kernel of a slow
// server acknowledges both.
const (
	tcpKeepAliveIdle     = 5 * time.Second
	tcpKeepAliveInterval = 2 * time.Second
	tcpKeepAliveCount    = 3
	tcpUserTimeout       = 3 * time.Second
)

// answerMargin is how long after statement_timeout an answer may arrive.
const answerMargin = time.Second

// dial opens a network connection that detects a lost peer.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: tcpKeepAliveIdle, Interval: tcpKeepAliveInterval, Count: tcpKeepAliveCount},
		Control:         setUserTimeout,
	}
	return d.DialContext(ctx, network, address)
}

// contextConn is a network connection on which a context ends reads and writes at once.
// The driver itself only asks the server to cancel the statement, and then waits for
// the server, however long it is silent.
type contextConn struct {
	net.Conn

	ioTimeout time.Duration // longest wait for a byte; 0: no limit
	broken    atomic.Bool   // a read or write has failed

	mu        sync.Mutex
	ctx       context.Context // of the current call; nil: none
	stop      func() bool     // stops waiting for ctx; nil: nothing waits
	deadline  time.Time       // set by the driver; zero: none
	pendingIO int             // reads and writes under way: a listener reads while it writes
}

// setContext makes ctx, instead of the previous context, end reads and writes.
func (c *contextConn) setContext(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
	}
	c.ctx, c.stop = ctx, nil
	if ctx.Done() == nil {
		return
	}
	c.stop = context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.ctx == ctx && c.pendingIO > 0 {
			_ = c.Conn.SetDeadline(time.Unix(1, 0)) // fails if it is closed, which ends the wait as well
		}
	})
}

func (c *contextConn) Read(p []byte) (int, error) {
	if err := c.begin("read", c.SetReadDeadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.end(err)
	return n, err
}

func (c *contextConn) Write(p []byte) (int, error) {
	if err := c.begin("write", c.SetWriteDeadline); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	c.end(err)
	return n, err
}

// begin sets the deadline of a read or write. It fails at once if the context is
// done.
func (c *contextConn) begin(operation string, setDeadline func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx != nil && c.ctx.Err() != nil {
		c.broken.Store(true)
		return &net.OpError{Op: operation, Net: c.RemoteAddr().Network(), Addr: c.RemoteAddr(), Err: os.ErrDeadlineExceeded}
	}
	deadline := c.deadline
	if c.ioTimeout > 0 {
		if latest := time.Now().Add(c.ioTimeout); deadline.IsZero() || latest.Before(deadline) {
			deadline = latest
		}
	}
	if err := setDeadline(deadline); err != nil {
		c.broken.Store(true)
		return err
	}
	c.pendingIO++
	return nil
}

func (c *contextConn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pendingIO--
	if err != nil {
		c.broken.Store(true)
	}
}

// SetDeadline keeps a deadline for the next reads and writes. The driver limits its
// handshake with it.
func (c *contextConn) SetDeadline(deadline time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = deadline
	return nil
}
