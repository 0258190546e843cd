package supervise

import (
	"errors"
	"log/slog"
	"time"
)

const (
	launchAttempts = 4                // before a monitor is given up
	launchLimit    = 90 * time.Second // for one; a stop of an older worker may be part of it
	exchangeLimit  = 10 * time.Second // for one exchange with the database
	pauseFirst     = time.Second      // after a failure; doubled up to pauseMax
	pauseMax       = 30 * time.Second
	stopAttempts   = 5

	takenFor = 30 * time.Second       // a reservation, until it is promoted or due again; several exchanges fit in
	soonest  = 100 * time.Millisecond // between two looks at reservations that could not be had
)

// Config is what a Supervisor may be told. NewEventID is required.
type Config struct {
	// NewEventID makes the id of an event, a UUIDv7 (decision W2).
	NewEventID func() string

	// Launches is how many launches may be under way at once, default 4.
	Launches int

	// Settle is how long after its end a worker's absence is judged, default
	// 1 s: when a whole host goes down, workers may be gone before the gateway
	// is told, and are not lost.
	Settle time.Duration

	// Poll is the longest time between two looks at the reservations, default
	// 1 s: the bound on how late one is promoted that was made, here or at
	// another gateway, for a moment sooner than the look that was to be next.
	Poll time.Duration

	Log *slog.Logger     // default: none
	Now func() time.Time // default time.Now
}

func (c Config) complete() (Config, error) {
	if c.NewEventID == nil {
		return c, errors.New("supervise: NewEventID is required")
	}
	if c.Launches == 0 {
		c.Launches = 4
	}
	if c.Settle == 0 {
		c.Settle = time.Second
	}
	if c.Poll == 0 {
		c.Poll = time.Second
	}
	if c.Launches < 0 || c.Settle < 0 || c.Poll < 0 {
		return c, errors.New("supervise: Launches, Settle and Poll must not be negative")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// pause is how long to wait after the nth failure in a row, from 1.
func pause(n int) time.Duration {
	return min(pauseFirst<<min(n-1, 10), pauseMax)
}
