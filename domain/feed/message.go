package feed

import (
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/egress"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Bounds of State.
const (
	EndedShown         = 10 * time.Minute // since a monitor ended, or an incident with evidence was resolved
	FailedShown        = 24 * time.Hour   // since the event of a failed delivery was stored
	MaxStateDeliveries = 500
	MaxStateEvidence   = 500
)

// State is the data of state.replace: everything that a reader shows. The reader
// forgets what it had and continues from the position of the message.
type State struct {
	Monitors       []Monitor  `json:"monitors"`        // active, or ended within EndedShown
	Incidents      []Incident `json:"incidents"`       // unresolved
	Deliveries     []Delivery `json:"deliveries"`      // pending, or failed within FailedShown; the newest first
	MoreDeliveries bool       `json:"more_deliveries"` // there are more than MaxStateDeliveries
	Evidence       []Evidence `json:"evidence"`        // of incidents that are unresolved, or resolved within EndedShown; the newest first
	MoreEvidence   bool       `json:"more_evidence"`   // there are more than MaxStateEvidence
}

// Type implements Data.
func (State) Type() Type { return StateReplace }

// Heartbeat is the data of heartbeat. It says that the gateway lives, and how the
// watching goes.
type Heartbeat struct {
	Checker *Checker        `json:"checker"` // null: the database did not tell
	Egress  []egress.Status `json:"egress"`  // the addresses of this gateway (section 10.3); null: it chooses none
}

// Checker is the state of all workers together, at all gateways.
type Checker struct {
	Watched      int          `json:"watched"`       // active monitors that have a worker
	Blind        int          `json:"blind"`         // of those, the blind ones (decision S15)
	Late         int          `json:"late"`          // of those, not reported or not checked for LateIntervals intervals
	LateMonitors []monitor.ID `json:"late_monitors"` // at most MaxLateMonitors of the late ones
	Failing      int          `json:"failing"`       // monitors whose newest attempt to observe the stream failed
	Failures     []Failure    `json:"failures"`      // at most MaxFailures, the most frequent first

	BlindSpot *monitor.BlindSpot `json:"blind_spot"` // null: too few are unseen to have one cause
}

// Failure is one error and how many monitors have it as their last_error.
type Failure struct {
	Error    string `json:"error"` // its first 200 characters
	Monitors int    `json:"monitors"`
}

// Limits of a Checker.
const (
	MaxLateMonitors = 100
	MaxFailures     = 5

	// LateIntervals is after how many of its check intervals a monitor is late. An
	// interval counts as MinInterval at least: a worker reports every 10 s.
	LateIntervals = 3
	MinInterval   = 10 * time.Second
)

// Type implements Data.
func (Heartbeat) Type() Type { return HeartbeatType }

// Reasons of Bye.
const (
	Shutdown = "shutdown" // the gateway stops; another one answers
	TooSlow  = "too_slow" // the reader fell behind what the gateway keeps in memory
)

// Bye is the data of bye, the last message of a connection. The reader connects
// again and continues from its position.
type Bye struct {
	Reason string `json:"reason"`
}

// Type implements Data.
func (Bye) Type() Type { return ByeType }

// Message is an entry, or one of the messages above, as a reader gets it.
type Message struct {
	Position Position // from which to continue after it; zero: from where the reader was
	Type     Type
	Line     []byte // one line of JSON: {id, version, type, at, data}
}

// NewMessage encodes an entry or a message. A zero position leaves out id and version.
func NewMessage(position Position, t Type, at time.Time, data json.RawMessage) (Message, error) {
	line, err := wire.Encode(struct {
		ID      string          `json:"id,omitempty"`
		Version *int64          `json:"version,omitempty"`
		Type    Type            `json:"type"`
		At      time.Time       `json:"at"`
		Data    json.RawMessage `json:"data"`
	}{position.String(), position.version(), t, wire.Time(at, time.UTC), data})
	return Message{position, t, line}, err
}
