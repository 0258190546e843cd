package delivery

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	lookLimit   = 3 * time.Second            // for one look at the outbox
	recordLimit = 5 * time.Second            // for storing an outcome once
	leaseMin    = SendLimit + 10*time.Second // room for sending and for recording twice
	batchMax    = 32                         // letters leased at once
	soonest     = 100 * time.Millisecond     // between two looks at an outbox that has nothing to give
	pauseFirst  = 200 * time.Millisecond     // after a failed exchange; doubled up to pauseMax
	pauseMax    = time.Second                // with lookLimit it bounds the delay after the database is back
)

// Config is what a Dispatcher may be told; the zero value is usable.
type Config struct {
	// Workers is how many letters may be in flight, default 128. Since no
	// monitor has two, a number above the maximum of monitors (section 8.5)
	// means that no receiver can hold up another's letters.
	Workers int

	// Lease is how long a letter is this dispatcher's, default 30 s, at least
	// 20 s: an attempt and its recording must fit in.
	Lease time.Duration

	// Poll is the longest time between two looks at the outbox, default 1 s: the
	// bound on the delay after a wake-up that got lost.
	Poll time.Duration

	// Grace is how long letters in flight may take after Run's context is done,
	// default 15 s.
	Grace time.Duration

	Log *slog.Logger // default: none

	// OnEnded is told of a monitor that has been ended because its callback
	// failed (decision W4), so that its worker can be stopped. It must not
	// block. Default: nobody is told.
	OnEnded func(monitor.ID)
}

func (c Config) complete() (Config, error) {
	if c.Workers == 0 {
		c.Workers = 128
	}
	if c.Lease == 0 {
		c.Lease = 30 * time.Second
	}
	if c.Poll == 0 {
		c.Poll = time.Second
	}
	if c.Grace == 0 {
		c.Grace = 15 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.OnEnded == nil {
		c.OnEnded = func(monitor.ID) {}
	}
	switch {
	case c.Workers < 0:
		return c, fmt.Errorf("deliver: Workers is %d; accepted is 1 or more", c.Workers)
	case c.Lease < leaseMin:
		return c, fmt.Errorf("deliver: Lease is %v; accepted is %v or more", c.Lease, leaseMin)
	case c.Poll < 0 || c.Grace < 0:
		return c, errors.New("deliver: Poll and Grace must not be negative")
	}
	return c, nil
}

// pause is how long to wait after the nth failure in a row, from 1.
func pause(n int) time.Duration {
	return min(pauseFirst<<min(n-1, 10), pauseMax)
}
