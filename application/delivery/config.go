package delivery

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	queryTimeout  = 3 * time.Second              // for one look at the outbox
	recordTimeout = 5 * time.Second              // for storing an outcome once
	minLease      = SendTimeout + 10*time.Second // room for sending and for recording twice
	maxBatch      = 32                           // letters leased at once
	minPoll       = 100 * time.Millisecond       // between two looks at an outbox that has nothing to give
	minBackoff    = 200 * time.Millisecond       // after a failed exchange; doubled up to pauseMax
	maxBackoff    = time.Second                  // with lookLimit it bounds the delay after the database is back
)

// Config is what a Dispatcher may be told; the zero value is usable.
type Config struct {
	// Workers is how many letters may be in flight, default 128. Since no
	// monitor has two, a number above the maximum of monitors (section 8.5)
	// means that no receiver can hold up another's letters.
	MaxInFlight int

	// Lease is how long a letter is this dispatcher's, default 30 s, at least
	// 20 s: an attempt and its recording must fit in.
	LeaseDuration time.Duration

	// Poll is the longest time between two looks at the outbox, default 1 s: the
	// bound on the delay after a wake-up that got lost.
	PollInterval time.Duration

	// Grace is how long letters in flight may take after Run's context is done,
	// default 15 s.
	GracePeriod time.Duration

	Log *slog.Logger // default: none

	// OnEnded is told of a monitor that has been ended because its callback
	// failed (decision W4), so that its worker can be stopped. It must not
	// block. Default: nobody is told.
	OnMonitorFailed func(monitor.ID)
}

func (c Config) complete() (Config, error) {
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 128
	}
	if c.LeaseDuration == 0 {
		c.LeaseDuration = 30 * time.Second
	}
	if c.PollInterval == 0 {
		c.PollInterval = time.Second
	}
	if c.GracePeriod == 0 {
		c.GracePeriod = 15 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.OnMonitorFailed == nil {
		c.OnMonitorFailed = func(monitor.ID) {}
	}
	switch {
	case c.MaxInFlight < 0:
		return c, fmt.Errorf("deliver: Workers is %d; accepted is 1 or more", c.MaxInFlight)
	case c.LeaseDuration < minLease:
		return c, fmt.Errorf("deliver: Lease is %v; accepted is %v or more", c.LeaseDuration, minLease)
	case c.PollInterval < 0 || c.GracePeriod < 0:
		return c, errors.New("deliver: Poll and Grace must not be negative")
	}
	return c, nil
}

// pause is how long to wait after the nth failure in a row, from 1.
func backoff(n int) time.Duration {
	return min(minBackoff<<min(n-1, 10), maxBackoff)
}
