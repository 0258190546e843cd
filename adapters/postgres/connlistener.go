package postgres

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/feed"
)

const (
	// The driver reconnects a lost listening connection after minReconnectDelay. It
	// doubles the delay after each failure, up to maxReconnectDelay.
	minReconnectDelay = 50 * time.Millisecond
	maxReconnectDelay = time.Second

	// A listening connection may be idle for hours, in which it would not detect a lost
	// server. So the listener sends a statement every keepAliveInterval. A connection
	// on which nothing arrives for keepAliveTimeout is lost.
	keepAliveInterval = 3 * time.Second
	keepAliveTimeout  = 10 * time.Second
)

// keepAliveChannel is the channel of the statements LISTEN and UNLISTEN that
// sendKeepAlives sends. Nothing notifies it.
const keepAliveChannel = deliveriesChannel + "_keepalive"

// Listener wakes the dispatcher when there may be something to deliver, and the feed when it grows.
type Listener struct {
	dsn               string
	log               *slog.Logger
	keepAliveInterval time.Duration
	keepAliveTimeout  time.Duration
}

// Listen opens a connection of its own and sends on the returned channel when a delivery
// becomes due, or an incident is to be routed. It also sends when it may have missed a notification: when it begins
// to listen, and after a lost connection. It merges values that the caller has not
// received into one. Listen returns at once and connects in the background, until it
// succeeds. When ctx is done, it closes the connection and then the channel.
func (l *Listener) Listen(ctx context.Context) <-chan struct{} {
	wakes := make(chan struct{}, 1)
	go l.run(ctx, deliveriesChannel, wakes, nil)
	return wakes
}

// ListenFeed does for the feed what Listen does for deliveries, on another connection. It
// calls thumbnail, which must not block, for every thumbnail that a gateway stores. It may
// miss some while it is not connected. nil: thumbnails are ignored.
func (l *Listener) ListenFeed(ctx context.Context, thumbnail func(feed.Thumbnail)) <-chan struct{} {
	wakes := make(chan struct{}, 1)
	go l.run(ctx, feedChannel, wakes, thumbnail)
	return wakes
}

// run listens to a channel, and to that of thumbnails unless thumbnail is nil.
func (l *Listener) run(ctx context.Context, channel string, wakes chan<- struct{}, thumbnail func(feed.Thumbnail)) {
	defer close(wakes)
	wake := func() {
		select {
		case wakes <- struct{}{}:
		default:
		}
	}
	dialer := &listenerDialer{ctx: ctx, ioTimeout: l.keepAliveTimeout}
	conn := pq.NewDialListener(dialer, l.dsn, minReconnectDelay, maxReconnectDelay, func(kind pq.ListenerEventType, err error) {
		l.logEvent(ctx, channel, kind, err)
	})
	firstListenEnded := make(chan struct{})
	var goroutines sync.WaitGroup
	goroutines.Go(func() { // Listen returns when the driver is connected, or after conn.Close
		defer close(firstListenEnded)
		if thumbnail != nil {
			_ = conn.Listen(thumbnailChannel) // it fails as the next one does, which is logged
		}
		if err := conn.Listen(channel); err != nil && !errors.Is(err, net.ErrClosed) {
			l.log.Error("cannot listen to the database; the gateway finds new events by polling, up to 1 s later, and changes for the feed up to 5 s later", "channel", channel, "error", err)
		}
	})
	goroutines.Go(func() { // ends when ctx is done
		<-firstListenEnded
		sendKeepAlives(ctx, conn, l.keepAliveInterval)
	})
	defer func() {
		_ = conn.Close()
		for range conn.Notify { // the driver's goroutine closes it when it ends
		}
		goroutines.Wait()
	}()
	begun := firstListenEnded
	for {
		select {
		case <-ctx.Done():
			return
		case <-begun:
			begun = nil // a nil channel is never ready
			wake()
		case n := <-conn.Notify: // receives nil after a reconnection
			if n == nil || n.Channel != thumbnailChannel {
				wake()
				continue
			}
			if t, ok := parseThumbnail(n.Extra); ok && thumbnail != nil {
				thumbnail(t)
			}
		}
	}
}

func (l *Listener) logEvent(ctx context.Context, channel string, kind pq.ListenerEventType, err error) {
	switch {
	case ctx.Err() != nil: // the connection ended because ctx is done
	case kind == pq.ListenerEventDisconnected:
		l.log.Warn("listening connection lost, will connect again; the gateway polls meanwhile", "channel", channel, "error", err)
	case kind == pq.ListenerEventConnectionAttemptFailed:
		l.log.Debug("listening connection not made", "channel", channel, "error", err)
	case kind == pq.ListenerEventReconnected:
		l.log.Info("listening again", "channel", channel)
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

// listenerDialer dials the listening connection. The connection ends when nothing arrives
// on it for ioTimeout, and when ctx is done. Only one goroutine may use the dialer.
type listenerDialer struct {
	ctx       context.Context
	ioTimeout time.Duration
	previous  *contextConn // nil: none
}

// DialContext implements pq.DialerContext.
func (d *listenerDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	netConn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if d.previous != nil {
		d.previous.setContext(context.Background()) // d.ctx no longer refers to it
	}
	d.previous = &contextConn{Conn: netConn, ioTimeout: d.ioTimeout}
	d.previous.setContext(d.ctx)
	return d.previous, nil
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
