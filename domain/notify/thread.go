package notify

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
)

// Situation is the present state of an incident or of a storm, as far as messages tell it.
type Situation struct {
	Open                 bool
	Severity             int
	Conditions           []incident.Name // that last
	OpenedAt             time.Time
	ResolvedAt           time.Time // zero while open
	Reopened             int       // how often
	AcknowledgedBy       string    // empty: nobody has it
	AcknowledgedSeverity int       // the severity at that time
	HasPicture           bool
}

// Told holds what a destination knows of an incident. Only messages that were sent count.
type Told struct {
	Opened         bool                        `json:"opened"`
	Open           bool                        `json:"open"` // as of the newest message
	Severity       int                         `json:"severity"`
	Reopened       int                         `json:"reopened"`
	AcknowledgedBy string                      `json:"acknowledged_by,omitempty"`
	HasPicture     bool                        `json:"has_picture"`
	Conditions     []incident.Name             `json:"conditions"`         // that lasted
	PushedAt       time.Time                   `json:"pushed_at,omitzero"` // of the newest message that makes a sound
	Pushed         map[incident.Name]time.Time `json:"pushed,omitempty"`   // the same, by condition
	Ref            string                      `json:"ref,omitempty"`      // names the message at the channel, for edits
}

// MessageKind says why a message is sent.
type MessageKind string

// The kinds of messages about an incident.
const (
	Opened       MessageKind = "opened"
	Worse        MessageKind = "worse"    // its severity has risen, or another condition has begun
	Reopened     MessageKind = "reopened" // trouble has come back
	Acknowledged MessageKind = "acknowledged"
	Recovered    MessageKind = "recovered"
	Repeated     MessageKind = "repeated"
	Updated      MessageKind = "updated" // something else has changed; only for channels that edit
)

// Plan holds what route, channel and silences say about messages to a destination.
type Plan struct {
	Delay  time.Duration // of the route
	Repeat time.Duration // of the route
	Edits  bool          // of the channel
	Await  time.Duration // of the channel: for a picture

	// SilencedUntil ends the silences that match now; zero: there is none. It is
	// Forever for silences without a known end.
	SilencedUntil time.Time
}

// Step describes the next message to a destination. Without Kind nothing is sent before At; a zero
// At then waits for a change of the incident.
type Step struct {
	Kind MessageKind
	Push bool // the message makes a sound
	At   time.Time
}
