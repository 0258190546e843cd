package message

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Facts are what a message is made of. Exactly one of Incident, Storm and Notice is set.
type Facts struct {
	ID            string // of the message, a UUID
	ThreadID      string
	DestinationID string
	Language      notify.Language
	Situation     notify.Situation // of an incident or a storm
	Notified      notify.Notified  // what the destination knows
	Repeat        time.Duration    // how often the message is repeated until somebody acknowledges; 0: never
	Now           time.Time
	Delay         time.Duration // since the message was first due
	Unreachable   bool          // the destination failed meanwhile
	Test          bool          // it is an example that a person asked for
	Picture       *Picture      // without Alt; nil: there is none

	Incident *notify.StreamIncident
	Storm    *Storm
	Notice   *Notice
}

// Storm is an incident of many streams.
type Storm struct {
	Streams int // with an incident in it
	Live    int // streams that they are counted among; 0: unknown

	Condition incident.Name // that it began with

	BlindSpot *monitor.BlindSpot // what those have in common that are unseen now; nil: nothing
}

// Notice is news beside incidents. It is about a destination that the gateway has disabled, a hint (section 16.7),
// channels, or the rejected login of an owner (decision S24). It is stored as JSON.
type Notice struct {
	Destination  string // the name of the one that was disabled; empty: Hint, Channel or Login is set
	Cause        DisableCause
	LastError    string    // in the words of the channel
	FailingSince time.Time `json:",omitzero"`
	At           time.Time
	Hint         *Hint          `json:",omitempty"`
	Channel      *ChannelNotice `json:",omitempty"`
	Login        string         `json:",omitempty"` // the name of the one that is rejected, for LastError
}

// MaxChannelNews is how many news one message has. Count says how many there were.
const MaxChannelNews = 10

// ChannelNotice is an event of a channel of streams for a webhook, or the events of one type that people are told at once.
type ChannelNotice struct {
	EventID   string // of the first
	ChannelID string // empty: there are several
	EventType event.Type
	Body      json.RawMessage `json:",omitempty"` // for a webhook
	Count     int
	Channels  []ChannelNews `json:",omitempty"` // for people
}

// ChannelNews is what people are told of one channel.
type ChannelNews struct {
	ChannelID string
	Channel   string // its title or address

	// Of a stream that was found:
	StreamURL monitor.StreamURL `json:",omitempty"`
	Stream    string            `json:",omitempty"` // its title
	Start     time.Time         `json:",omitzero"`  // zero: it is live, or nobody knows
	Watched   bool              `json:",omitempty"`
	NoRoom    bool              `json:",omitempty"`
	Detail    string            `json:",omitempty"` // why it is not watched, or why the channel cannot be read

	// Of a channel that could not be read:
	Since, Until time.Time `json:",omitzero"`
}

// NewsOf returns what people are told of an event.
func NewsOf(c channel.Channel, e channel.Event) ChannelNews {
	news := ChannelNews{ChannelID: c.ID, Channel: cmp.Or(c.Title, c.Handle, string(c.Address))}
	switch {
	case e.Stream != nil:
		news.StreamURL, news.Stream, news.Detail = e.Stream.StreamURL, e.Stream.Title, e.Stream.Detail
		news.Watched, news.NoRoom = e.Stream.Standing == channel.Watched, e.Stream.Why == channel.NoRoom
		if e.Stream.ScheduledStart != nil && e.Stream.State != channel.Live {
			news.Start = *e.Stream.ScheduledStart
		}
	case e.Gap != nil:
		news.Since, news.Detail = e.Gap.Since, e.Gap.Detail
		if e.Gap.Until != nil {
			news.Until = *e.Gap.Until
		}
	}
	return news
}

// Hint is a hint about a stream that a route asks for.
type Hint struct {
	monitor.Hint

	MonitorID   monitor.ID
	Number      int // of the stream; 0: none
	StreamURL   monitor.StreamURL
	ChannelName string // of the metadata; may be empty, as the title
	StreamTitle string
}

// DisableCause says why a destination was disabled.
type DisableCause string

// The causes.
const (
	Gone          DisableCause = "gone"            // the channel says that it does not exist any more
	FailedForDays DisableCause = "failed_for_days" // every attempt has failed since Notice.FailingSince
)
