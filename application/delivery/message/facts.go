package message

import (
	"time"

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

// Notice says that the gateway has disabled a destination, or that a hint about a stream has begun (section 16.7).
// It is stored as JSON.
type Notice struct {
	Destination  string // the name of the one that was disabled; empty: Hint is set
	Cause        DisableCause
	LastError    string    // in the words of the channel
	FailingSince time.Time `json:",omitzero"`
	At           time.Time
	Hint         *Hint `json:",omitempty"`
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
