package channels

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits of channels.
const (
	MaxChannels = 1000 // that are not stopped
	MaxPage     = 200
	DefaultPage = 50
)

// The codes of refusals beside those of package monitor.
const (
	NotFound  monitor.Code = "CHANNEL_NOT_FOUND"
	Duplicate monitor.Code = "DUPLICATE_CHANNEL" // another channel that is not stopped is the same
	Stopped   monitor.Code = "CHANNEL_STOPPED"
	Running   monitor.Code = "CHANNEL_RUNNING" // the request has to say what becomes of watches that run
)

// StoppedAlready refuses a change of a channel that has been stopped.
func StoppedAlready(id string) *monitor.Error {
	return monitor.Errorf(Stopped, "channel %s has been stopped and cannot be changed; register it again", id)
}

// Listed is a channel of a list, without its streams, and how many of them have each standing.
type Listed struct {
	channel.Channel

	Standings map[channel.Standing]int
	NoRoom    int // of those that are wanted
}

// Store keeps channels. Each method blocks for some exchanges with the store and may be called concurrently, by several
// gateways. Streams have the state of their monitors as of the call.
type Store interface {
	// CreateChannel stores a channel. Errors: *monitor.Error Duplicate; InvalidConfig if there are MaxChannels.
	CreateChannel(ctx context.Context, c channel.Channel) error

	// CheckChannel returns what CreateChannel would, and stores nothing.
	CheckChannel(ctx context.Context, c channel.Channel) error

	// SameChannel returns the ID of the channel that CreateChannel would call the same. Without one it returns that of the
	// newest stopped channel of the same place that the file Owner has kept. An empty id means neither.
	SameChannel(ctx context.Context, c channel.Channel) (id string, err error)

	// Channel reads a channel with its streams. Errors: *monitor.Error NotFound.
	Channel(ctx context.Context, id string) (channel.Channel, error)

	// Channels reads a page of the channels, the newest first, and how many there are. Stopped ones come if stopped is set.
	Channels(ctx context.Context, stopped bool, limit, offset int) (page []Listed, total int, err error)

	// ChangeChannel stores Template, Owner, StoppedAt and Reading.NextAt of a channel as change makes them of what is stored. Changes
	// at the same time are made one after another. After a stop no stream of the channel is registered any more. Errors:
	// that of change; *monitor.Error NotFound.
	ChangeChannel(ctx context.Context, id string, change func(*channel.Channel) error) (channel.Channel, error)

	// ChannelEvents reads the newest events of a channel, as webhooks get them.
	ChannelEvents(ctx context.Context, id string, limit int) ([]json.RawMessage, error)
}

// DiscoveryStore keeps what is found of channels, as Store.
type DiscoveryStore interface {
	// ClaimChannels returns up to limit channels whose addresses have a prefix and that are due at now, those first that are due
	// longest. It makes them due again at until.
	ClaimChannels(ctx context.Context, prefix string, now, until time.Time, limit int) ([]channel.Channel, error)

	// SaveLook stores what a look has made of a channel, but not its template, and adds events, which routes lead to
	// destinations. Nothing is stored of a channel that was stopped meanwhile. Errors: *monitor.Error Duplicate if its
	// SourceID is that of another channel.
	SaveLook(ctx context.Context, c channel.Channel, events []channel.Event) error

	// WantedStreams returns the first limit of all streams that may be registered at now, in the order of
	// channel.Compare.
	WantedStreams(ctx context.Context, now time.Time, limit int) ([]channel.Candidate, error)

	// AskedStreams returns the first limit of the streams about which the resolver is asked at now.
	AskedStreams(ctx context.Context, now time.Time, limit int) ([]channel.Candidate, error)

	// SaveStream stores a stream of a channel and adds events.
	SaveStream(ctx context.Context, c channel.Channel, f channel.Found, events []channel.Event) error
}

// Lister asks a source for the streams of a channel. address is the URL of the channel in its canonical form. List blocks
// until it has an answer, its own time limit passes, or ctx is done, and may be called concurrently. Errors:
// *channel.Failure.
type Lister interface {
	List(ctx context.Context, address string) (channel.Listing, error)
}

// BroadcastsAPI asks the official API of a source about many places at once. It learns of starts and ends minutes late, and decides
// only which places the Listers are asked about.
type BroadcastsAPI interface {
	// Broadcasts returns the ID of the broadcast of each place at which one is live. It blocks until it has an answer, or ctx is done. Errors: no answer.
	Broadcasts(ctx context.Context, places []monitor.StreamURL) (map[monitor.StreamURL]string, error)
}

// Resolver finds the state of a stream, as for previews. A failure is in the Resolution.
type Resolver interface {
	Resolve(ctx context.Context, url monitor.StreamURL) watch.Resolution
}

// Registrar registers, changes and stops the monitors of channels, by the rules of the API.
type Registrar interface {
	// RegisterStream registers a stream, or adopts the active monitor that it has. Errors: *monitor.Error
	// MaxMonitorsExceeded; another one if the registration is refused.
	RegisterStream(ctx context.Context, r channel.Registration) (m monitor.Monitor, adopted bool, err error)

	// CheckCallback refuses a callback that may not be called, and none if no route would tell anybody of a stream that is
	// registered with a template. Errors: *monitor.Error; the check failed.
	CheckCallback(ctx context.Context, t channel.Template) error

	// ChangeStream gives the monitor of a stream what channel.ChangesOf says. One that has ended stays as it is.
	ChangeStream(ctx context.Context, c channel.Channel, f channel.Found) error

	// StopStream stops a monitor of a channel. One that has ended stays as it is.
	StopStream(ctx context.Context, c channel.Channel, id monitor.ID) error
}

// Logins lends cookie jars (section 17.7).
type Logins interface {
	// With returns a context for a question about a stream that uses the jar with a name.
	With(ctx context.Context, jar string, stream monitor.StreamURL) (context.Context, error)
}

// Pages holds the budget of questions of each egress address, and whether it rests (section 10.3). The resolver of streams
// has the same.
type Pages interface {
	// Page returns the context of a request for the page of a channel of a source. ok is false if the budget holds it back.
	Page(ctx context.Context, source monitor.SourceName) (through context.Context, ok bool)

	// Record records the outcome of a request in its context.
	Record(through context.Context, source monitor.SourceName, outcome watch.StreamState)
}
