package monitor

import (
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/ingest"
)

// MaxMetadata is the largest metadata object accepted, in bytes (decision A3).
const MaxMetadata = 16 << 10

// Monitor is one registration and its present state.
type Monitor struct {
	ID           ID
	Number       int // by which people call the stream: from 1, given by the store at the registration (section 16.6)
	StreamURL    StreamURL
	StreamSecret StreamSecret
	CallbackURL  CallbackURL
	Config       Config
	Metadata     json.RawMessage // a JSON object, byte for byte as registered
	Labels       Labels
	Status       Status
	StreamStatus StreamStatus
	Health       Health
	Visibility   Visibility
	Statistics   Statistics
	Reason       string    // why Status is error, e.g. callback_failed; empty otherwise
	Generation   int       // of the newest worker launched, from 1; incremented when a worker is given up (decision O2)
	Revision     int       // counts the changes of Config, CallbackURL, Metadata, Labels, Pause and references, from 0 (section 16.6)
	RuntimeID    string    // of the runtime that launched that worker; empty before the first launch
	ReportedAt   time.Time // time of that worker's newest report, by its clock; zero before the first
	Snapshot     json.RawMessage
	CreatedAt    time.Time
	UpdatedAt    time.Time // changes with every report and every launch
	EndedAt      time.Time // zero while active
	ChannelID    string    // of the channel that has found or adopted it, a UUID; empty: none
	Owner        string    // the file that keeps it (section 19.8), at most MaxOwner characters; empty: none

	// RecordParkedSince is since when its incidents and its history cannot be stored
	// (section 16.3); zero: they are.
	RecordParkedSince time.Time

	// Untold says that it has no callback, and that no route leads its alerts to anybody. Stores find it out when they read.
	Untold bool

	// SecretLost says that no key decrypts StreamSecret. Without it, its source could take a worker for a stranger.
	SecretLost bool

	// Hints are those that hold, in the order in which they began (section 16.7).
	Hints []Hint

	// Ingest is what the source thinks of the encoder's signal (decision S24); nil: nothing young is known.
	Ingest *ingest.Health

	Pause Pause // that goes on; zero: it is not paused

	// ReservedUntil is when a reservation is promoted and gets its worker
	// (decision A10). It is zero for a monitor that is no reservation, or no longer.
	// A new monitor that gets its worker at once is a reservation until it is promoted.
	ReservedUntil time.Time
}

// LateBy returns how long after its scheduled start the monitor was registered; 0 if it
// was registered before, or has no scheduled start.
func (m Monitor) LateBy() time.Duration {
	if m.Config.ScheduledStartTime == nil {
		return 0
	}
	return max(0, m.CreatedAt.Sub(*m.Config.ScheduledStartTime))
}

// EndedBefore reports whether a planned start is that of a broadcast after the one that an ended monitor has watched. It is false
// for the start that the monitor had itself, and without a start (section 19.8).
func (m Monitor) EndedBefore(start *time.Time) bool {
	own := m.Config.ScheduledStartTime
	return start != nil && start.After(m.EndedAt) && (own == nil || !start.Equal(*own))
}

// Held returns how long after its insertion only the registering gateway may start a new
// monitor. It is 0 for a monitor that is reserved until its scheduled start
// (decision A10), and for one that is no reservation.
func (m Monitor) Held() time.Duration {
	if m.Status == Waiting || m.ReservedUntil.IsZero() {
		return 0
	}
	return m.ReservedUntil.Sub(m.CreatedAt)
}
