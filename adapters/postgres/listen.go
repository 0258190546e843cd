package postgres

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"
)

const (
	// A lost listening connection is made anew after this long; it doubles.
	firstReconnect = 50 * time.Millisecond
	mostReconnect  = time.Second

	// A listening connection has nothing to say for hours, and would have nothing
	// to say when its server is gone: so it is asked something now and then.
	beat    = 3 * time.Second
	silence = 10 * time.Second // then it is lost
)

// ears is how well a store hears that nothing is to be heard.
type ears struct{ beat, silence time.Duration }

// beating is the channel that is listened to and no more: something to ask.
const beating = channel + "_beat"

// Listen opens a connection of its own and sends on the channel it returns
// whenever an event became pending, and whenever that may have been missed:
// once it listens, and after a lost connection. Wake-ups that nobody takes
// become one. It returns at once; what it cannot reach it goes on trying. When
// ctx is done it ends the connection and then closes the channel.
func (s *Store) Listen(ctx context.Context) <-chan struct{} {
	wakes := make(chan struct{}, 1)
	go s.listen(ctx, wakes)
	return wakes
}

func (s *Store) listen(ctx context.Context, wakes chan<- struct{}) {
	defer close(wakes)
	wake := func() {
		select {
		case wakes <- struct{}{}:
		default:
		}
	}
	l := pq.NewDialListener(&ear{ctx: ctx, silence: s.ears.silence, unbind: func() {}}, s.dsn, firstReconnect, mostReconnect, func(kind pq.ListenerEventType, err error) {
		switch {
		case ctx.Err() != nil: // the connection ended because ctx did
		case kind == pq.ListenerEventDisconnected:
			s.log.Warn("listening connection lost", "error", err)
		case kind == pq.ListenerEventConnectionAttemptFailed:
			s.log.Debug("listening connection not made", "error", err)
		case kind == pq.ListenerEventReconnected:
			s.log.Info("listening again")
		}
	})
	listening := make(chan struct{})
	var helpers sync.WaitGroup
	helpers.Go(func() { // ends once there is a connection, or with Close
		defer close(listening)
		if err := l.Listen(channel); err != nil && !errors.Is(err, net.ErrClosed) {
			s.log.Error("cannot listen for events; they are found by looking only", "error", err)
		}
	})
	helpers.Go(func() { // ends with ctx, or with Close
		<-listening
		keepAsking(ctx, l, s.ears.beat)
	})
	defer func() {
		_ = l.Close()
		for range l.Notify { // closed when the listener's goroutine has ended
		}
		helpers.Wait()
	}()
	begun := listening
	for {
		select {
		case <-ctx.Done():
			return
		case <-begun:
			begun = nil
			wake()
		case <-l.Notify: // nil after a reconnect
			wake()
		}
	}
}

// keepAsking has the server answer something at every beat, until ctx is done. The
// listener's own Ping is not used: it panics when the answer is an error, as
// that of a server that was held up for long may be.
func keepAsking(ctx context.Context, l *pq.Listener, beat time.Duration) {
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		// One that fails is made anew, and asked the next time.
		_ = l.Listen(beating)
		_ = l.Unlisten(beating)
	}
}

// ear is the dialer of a listening connection. What it makes is lost when it is
// silent for too long, or when ctx is done. It is used by one goroutine.
type ear struct {
	ctx     context.Context
	silence time.Duration
	unbind  func() // of the connection before
}

// DialContext implements pq.DialerContext.
func (e *ear) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn, limit: e.silence}
	e.unbind()
	e.unbind = w.bind(e.ctx)
	return w, nil
}

// Dial implements pq.Dialer.
func (e *ear) Dial(network, address string) (net.Conn, error) {
	return e.DialContext(context.Background(), network, address)
}

// DialTimeout implements pq.Dialer.
func (e *ear) DialTimeout(network, address string, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return e.DialContext(ctx, network, address)
}
