package postgres

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A peer that is gone without a word is noticed by these: probes on a
// connection that is silent, and how long what was sent may stay
// unacknowledged. A server that is only slow acknowledges.
const (
	probeAfter     = 5 * time.Second
	probeEvery     = 2 * time.Second
	probes         = 3
	acknowledgedIn = 3 * time.Second
)

// answerSlack is how much longer than the longest statement an answer is waited
// for.
const answerSlack = time.Second

// dial opens a network connection that notices when its peer is gone.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probeAfter, Interval: probeEvery, Count: probes},
		Control:         limitUnacknowledged,
	}
	return d.DialContext(ctx, network, address)
}

// wire is a network connection that can be bound to a context, which the driver
// cannot: it asks the server to cancel, and then waits for an answer for as long
// as the server is silent.
type wire struct {
	net.Conn
	limit  time.Duration // longest wait for a byte; 0: none
	broken atomic.Bool   // something has failed on it

	mu    sync.Mutex
	ctx   context.Context // of what is being done; nil: nothing binds it
	until time.Time       // the driver's own deadline; zero: none
	busy  int             // calls that wait for the peer: a listening connection reads while it writes
}

// bind makes ctx end what is done on the wire from now on; nil: nothing does.
// The function it returns must be called before the next bind.
func (w *wire) bind(ctx context.Context) (unbind func()) {
	w.mu.Lock()
	w.ctx = ctx
	w.mu.Unlock()
	if ctx == nil || ctx.Done() == nil {
		return func() {}
	}
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.ctx == ctx && w.busy > 0 {
			_ = w.Conn.SetDeadline(time.Unix(1, 0)) // fails when it is closed, which does as well
		}
	})
	return func() { stop() }
}

func (w *wire) Read(p []byte) (int, error) {
	if err := w.begin("read", w.SetReadDeadline); err != nil {
		return 0, err
	}
	n, err := w.Conn.Read(p)
	w.finish(err)
	return n, err
}

func (w *wire) Write(p []byte) (int, error) {
	if err := w.begin("write", w.SetWriteDeadline); err != nil {
		return 0, err
	}
	n, err := w.Conn.Write(p)
	w.finish(err)
	return n, err
}

// begin sets how long the peer is waited for. Under a context that has ended it
// is not.
func (w *wire) begin(op string, set func(time.Time) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx != nil && w.ctx.Err() != nil {
		w.broken.Store(true)
		return &net.OpError{Op: op, Net: w.RemoteAddr().Network(), Addr: w.RemoteAddr(), Err: os.ErrDeadlineExceeded}
	}
	until := w.until
	if w.limit > 0 {
		if own := time.Now().Add(w.limit); until.IsZero() || own.Before(until) {
			until = own
		}
	}
	if err := set(until); err != nil {
		w.broken.Store(true)
		return err
	}
	w.busy++
	return nil
}

func (w *wire) finish(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	if err != nil {
		w.broken.Store(true)
	}
}

// SetDeadline is for the driver, which bounds its handshake with it.
func (w *wire) SetDeadline(until time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = until
	return nil
}
