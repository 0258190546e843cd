package postgres

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/lib/pq"
)

// A lost listening connection is made anew after this long; it doubles.
const (
	firstReconnect = 50 * time.Millisecond
	mostReconnect  = time.Second
)

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
	l := pq.NewListener(s.dsn, firstReconnect, mostReconnect, func(kind pq.ListenerEventType, err error) {
		switch kind {
		case pq.ListenerEventDisconnected:
			s.log.Warn("listening connection lost", "error", err)
		case pq.ListenerEventConnectionAttemptFailed:
			s.log.Debug("listening connection not made", "error", err)
		case pq.ListenerEventReconnected:
			s.log.Info("listening again")
		}
	})
	listening := make(chan struct{})
	go func() { // ends once there is a connection, or with Close
		defer close(listening)
		if err := l.Listen(channel); err != nil && !errors.Is(err, net.ErrClosed) {
			s.log.Error("cannot listen for events; they are found by looking only", "error", err)
		}
	}()
	defer func() {
		_ = l.Close()
		for range l.Notify { // closed when the listener's goroutine has ended
		}
		<-listening
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
