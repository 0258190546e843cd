package pushes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
)

// retireAfter is how long an old socket is read after the new one has its shard. Messages sent before are still on their way.
const retireAfter = 2 * time.Second

// listen keeps a socket until ctx is done.
func (f *Follower) listen(ctx context.Context) {
	var old sync.WaitGroup
	defer old.Wait()
	retire := func() {} // ends the socket before this one
	failures, at := 0, eventsub.Socket
	for ctx.Err() == nil {
		began := time.Now()
		socket, welcome, err := f.open(ctx, at)
		if err == nil {
			retire()
			f.note(ctx, listening, nil, func(s *eventsub.State) { s.Connect(welcome.Session, f.service.now()) })
			at, err = f.read(ctx, socket, welcome.Silence)
		}
		if err == nil { // Twitch wants another socket, and sends to this one until it is there
			reading, cancel := context.WithTimeout(ctx, eventsub.ReconnectTime)
			old.Go(func() {
				defer cancel()
				_, _ = f.read(reading, socket, eventsub.ReconnectTime)
				socket.Close()
			})
			retire = func() { time.AfterFunc(retireAfter, cancel) }
			continue
		}
		if socket != nil {
			socket.Close()
		}
		at = eventsub.Socket
		f.note(ctx, listening, err, func(s *eventsub.State) { s.Disconnect(welcome.Session) })
		if failures++; time.Since(began) >= eventsub.SteadyAfter {
			failures = 1
		}
		wait.For(ctx, eventsub.Backoff.Delay(failures))
	}
}

// open opens a socket, and lets the shard of the conduit send to it.
func (f *Follower) open(ctx context.Context, at string) (socket Socket, welcome eventsub.Frame, err error) {
	conduit, err := f.conduit(ctx)
	if err != nil {
		return nil, welcome, err
	}
	dialing, cancel := context.WithTimeout(ctx, eventsub.WelcomeTimeout)
	defer cancel()
	if socket, err = f.dialer.Dial(dialing, at); err != nil {
		return nil, welcome, fmt.Errorf("connect to a socket: %w", err)
	}
	if welcome, err = f.frame(ctx, socket, eventsub.WelcomeTimeout); err == nil && welcome.Kind != eventsub.Welcome {
		err = fmt.Errorf("the first frame of a socket is %.40q, not %s", welcome.Kind, eventsub.Welcome)
	}
	if err == nil {
		if err = f.conduits.AssignShard(ctx, conduit, welcome.Session); err != nil {
			err = fmt.Errorf("let the conduit send to the socket: %w", err)
		}
	}
	if err != nil {
		socket.Close()
		return nil, welcome, err
	}
	return socket, welcome, nil
}

// conduit returns the conduit of this deployment, and makes a missing one. It leaves alone those of others who use the application.
func (f *Follower) conduit(ctx context.Context) (string, error) {
	state, err := f.service.store.EventSubState(ctx)
	if err != nil {
		return "", err
	}
	all, err := f.conduits.Conduits(ctx)
	if err != nil {
		return "", fmt.Errorf("ask for the conduits: %w", err)
	}
	id := state.Transport.Conduit
	if !slices.Contains(all, id) { // it has gone, or is of another application
		if id, err = f.conduits.CreateConduit(ctx); err != nil {
			return "", fmt.Errorf("make a conduit: %w", err)
		}
	}
	f.use(eventsub.Transport{Conduit: id})
	return id, f.service.store.ChangeEventSubState(ctx, func(s *eventsub.State) { s.Use(f.cfg.Client, f.current()) }) // else the next gateway makes another
}

// read accepts the messages of a socket until it asks for another one, whose URL it returns. Errors: the socket is lost.
func (f *Follower) read(ctx context.Context, socket Socket, silence time.Duration) (next string, err error) {
	for {
		frame, err := f.frame(ctx, socket, silence)
		switch {
		case errors.Is(err, errFrame):
			f.log.Debug("a frame of Twitch is left out", "error", err.Error())
		case err != nil:
			return "", err
		case frame.Kind == eventsub.Reconnect:
			return frame.Reconnect, nil
		case frame.Message != nil:
			if err := f.service.accept(ctx, *frame.Message); err != nil && ctx.Err() == nil {
				f.log.Warn("a message of Twitch is lost, its stream is found as without pushes", "error", err.Error())
			}
		}
	}
}

// errFrame says that a frame could not be understood.
var errFrame = errors.New("a frame is not understood")

// frame waits for a frame. Errors: none came for the time silence, or the socket is lost; errFrame.
func (f *Follower) frame(ctx context.Context, socket Socket, silence time.Duration) (eventsub.Frame, error) {
	reading, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	raw, err := socket.Read(reading)
	switch {
	case err != nil && reading.Err() != nil && ctx.Err() == nil:
		return eventsub.Frame{}, fmt.Errorf("the socket was silent for %.0f s", silence.Seconds())
	case err != nil:
		return eventsub.Frame{}, fmt.Errorf("the socket is lost: %w", err)
	}
	frame, err := eventsub.ReadFrame(raw, f.service.now())
	if err != nil {
		err = fmt.Errorf("%w: %w", errFrame, err)
	}
	return frame, err
}
