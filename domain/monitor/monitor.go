package monitor

import (
	"encoding/json"
	"time"
)

// MaxMetadata is the largest metadata object accepted, in bytes (decision A3).
const MaxMetadata = 16 << 10

// Monitor is one registration with what is known of it.
type Monitor struct {
	ID           ID
	StreamURL    StreamURL
	CallbackURL  CallbackURL
	Config       Config
	Metadata     json.RawMessage // a JSON object, byte for byte as registered
	Status       Status
	StreamStatus StreamStatus
	Health       Health
	Visibility   Visibility
	Statistics   Statistics
	Reason       string    // why Status is error, e.g. callback_failed; empty otherwise
	Generation   int       // of the newest worker launched, from 1; one more when it was given up (decision O2)
	RuntimeID    string    // where that worker was launched; empty: nowhere yet
	ReportedAt   time.Time // of the newest report of that worker, by its clock; zero: it has made none
	Snapshot     json.RawMessage
	CreatedAt    time.Time
	UpdatedAt    time.Time // it changes with every report and every launch
	EndedAt      time.Time // zero while active

	// ReservedUntil is when a reservation is promoted: before, it has no worker
	// (decision A10). Zero: it is none, or has been promoted. A new monitor that is
	// to have its worker at once is a reservation for a moment.
	ReservedUntil time.Time
}

// LateBy is by how much the monitor was registered after its scheduled start; 0
// if it was not, or has none.
func (m Monitor) LateBy() time.Duration {
	if m.Config.ScheduledStartTime == nil {
		return 0
	}
	return max(0, m.CreatedAt.Sub(*m.Config.ScheduledStartTime))
}

// Held is for how long, once it is stored, a new monitor is that of the gateway
// which registered it. 0: it is not held, or is reserved until a time of day
// (decision A10).
func (m Monitor) Held() time.Duration {
	if m.Status == Waiting || m.ReservedUntil.IsZero() {
		return 0
	}
	return m.ReservedUntil.Sub(m.CreatedAt)
}
