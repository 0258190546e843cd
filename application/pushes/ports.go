package pushes

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/eventsub"
)

// Store keeps messages, and the state of all gateways. Each method blocks for a few exchanges with the store and may be called
// concurrently.
type Store interface {
	// AcceptMessage stores a message, and makes due at now who asks about the stream of its Hint. first is false if its id was stored
	// before: then nothing follows.
	AcceptMessage(ctx context.Context, m eventsub.Message, now time.Time) (first bool, err error)

	// EventSubTargets reads the logins of channels and of active monitors of Twitch, each once, in order.
	EventSubTargets(ctx context.Context) ([]string, error)

	// EventSubState reads the state.
	EventSubState(ctx context.Context) (eventsub.State, error)

	// ChangeEventSubState changes the state in one transaction, in which nobody else changes it.
	ChangeEventSubState(ctx context.Context, change func(*eventsub.State)) error

	// ExpireMessages deletes up to limit messages that were received longer ago than age.
	ExpireMessages(ctx context.Context, age time.Duration, limit int) error
}

// API is the part of the API of Twitch that concerns subscriptions. Each method blocks for at most 40 s. Errors: *Refusal if the API
// has refused the request; why it was not reached.
type API interface {
	// UserIDs returns the ids of at most eventsub.PerCall logins. Those that Twitch does not know are missing.
	UserIDs(ctx context.Context, logins []string) (map[string]string, error)

	// Subscriptions returns all subscriptions of the application.
	Subscriptions(ctx context.Context) (eventsub.Existing, error)

	// Subscribe makes a subscription. secret signs the messages of a webhook. One that exists already is no error.
	Subscribe(ctx context.Context, k eventsub.Key, t eventsub.Transport, secret eventsub.Secret) error

	// Unsubscribe ends a subscription. One that is gone already is no error.
	Unsubscribe(ctx context.Context, id string) error
}

// Conduits is the part of the API that concerns conduits, as API.
type Conduits interface {
	// Conduits returns the ids of the application's conduits.
	Conduits(ctx context.Context) ([]string, error)

	// CreateConduit makes a conduit with one shard.
	CreateConduit(ctx context.Context) (id string, err error)

	// AssignShard lets the shard of a conduit send to a session of a socket.
	AssignShard(ctx context.Context, conduit, session string) error
}

// Dialer connects to sockets. Dial blocks until ctx is done or the socket is open.
type Dialer interface {
	Dial(ctx context.Context, url string) (Socket, error)
}

// Socket is a WebSocket. Read blocks until a frame of at most eventsub.MaxBody bytes has come; only one goroutine may call it. After an
// error, and after the end of a ctx of Read, the socket is closed.
type Socket interface {
	Read(ctx context.Context) ([]byte, error)
	Close()
}

// Refusal says that the API has refused a request.
type Refusal struct {
	Status int    // HTTP
	Detail string // one line, without secrets
}

// Error implements error.
func (r *Refusal) Error() string { return r.Detail }
