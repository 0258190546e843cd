package postgres

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"
)

const (
	// A lost listening connection is made again after minReconnectDelay, doubled up
	// to maxReconnectDelay.
	minReconnectDelay = 50 * time.Millisecond
	maxReconnectDelay = time.Second

	// A listening connection may be idle for hours and cannot tell then that its
	// server is gone. So the listener sends a statement every keepAliveInterval; a
	// connection without an answer for keepAliveTimeout is lost.
	keepAliveInterval = 3 * time.Second
	keepAliveTimeout  = 10 * time.Second
)

// keepAliveChannel is listened to and never notified: subscribing to it makes the
// server answer.
const keepAliveChannel = notifyChannel + "_keepalive"

// Listener wakes the dispatcher when an event is stored.
type Listener struct {
	dsn               string
	log               *slog.Logger
	keepAliveInterval time.Duration
	keepAliveTimeout  time.Duration
}

// Listen opens a connection of its own and sends on the returned channel whenever
// an event became pending. It also sends when a notification may have been
// missed: once it listens, and after a lost connection. Values that are not
// received are merged into one. Listen returns at once and keeps trying to
// connect. When ctx is done, it closes the connection and then the channel.
func (l *Listener) Listen(ctx context.Context) <-chan struct{} {
	wakes := make(chan struct{}, 1)
	go l.run(ctx, wakes)
	return wakes
}

func (l *Listener) run(ctx context.Context, wakes chan<- struct{}) {
	defer close(wakes)
	wake := func() {
		select {
		case wakes <- struct{}{}:
		default:
		}
	}
	dialer := &listenerDialer{ctx: ctx, ioTimeout: l.keepAliveTimeout, unbind: func() {}}
	conn := pq.NewDialListener(dialer, l.dsn, minReconnectDelay, maxReconnectDelay, func(kind pq.ListenerEventType, err error) {
		l.logEvent(ctx, kind, err)
	})
	subscribed := make(chan struct{})
	var helpers sync.WaitGroup
	helpers.Go(func() { // ends when there is a connection, or with Close
		defer close(subscribed)
		if err := conn.Listen(notifyChannel); err != nil && !errors.Is(err, net.ErrClosed) {
			l.log.Error("cannot listen for new events; they are found by polling, up to a second later", "error", err)
		}
	})
	helpers.Go(func() { // ends with ctx, or with Close
		<-subscribed
		sendKeepAlives(ctx, conn, l.keepAliveInterval)
	})
	defer func() {
		_ = conn.Close()
		for range conn.Notify { // closed when the driver's goroutine has ended
		}
		helpers.Wait()
	}()
	started := subscribed
	for {
		select {
		case <-ctx.Done():
			return
		case <-started:
			started = nil
			wake()
		case <-conn.Notify: // receives nil after a reconnection
			wake()
		}
	}
}

func (l *Listener) logEvent(ctx context.Context, kind pq.ListenerEventType, err error) {
	switch {
	case ctx.Err() != nil: // the connection ended because ctx did
	case kind == pq.ListenerEventDisconnected:
		l.log.Warn("listening connection lost", "error", err)
	case kind == pq.ListenerEventConnectionAttemptFailed:
		l.log.Debug("listening connection not made", "error", err)
	case kind == pq.ListenerEventReconnected:
		l.log.Info("listening again")
	}
}

// sendKeepAlives makes the server answer at every interval until ctx is done. The
// driver's Ping is not used: it panics when the server answers with an error.
func sendKeepAlives(ctx context.Context, conn *pq.Listener, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		// The driver reconnects after an error, and the next tick tries again.
		_ = conn.Listen(keepAliveChannel)
		_ = conn.Unlisten(keepAliveChannel)
	}
}

// listenerDialer dials the listening connection. That connection ends when it is
// silent for ioTimeout, and when ctx is done. One goroutine uses the dialer.
type listenerDialer struct {
	ctx       context.Context
	ioTimeout time.Duration
	unbind    func() // of the previous connection
}

// DialContext implements pq.DialerContext.
func (d *listenerDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	bound := &boundConn{Conn: conn, ioTimeout: d.ioTimeout}
	d.unbind()
	d.unbind = bound.bind(d.ctx)
	return bound, nil
}

// Dial implements pq.Dialer.
func (d *listenerDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout implements pq.Dialer.
func (d *listenerDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}
