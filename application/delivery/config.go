package delivery

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	queryTimeout  = 3 * time.Second              // of one Lease or NextDue
	recordTimeout = 5 * time.Second              // of one RecordAttempt
	minLease      = SendTimeout + 10*time.Second // time for sending once and recording twice
	maxBatch      = 32                           // deliveries in one lease
	minPoll       = 100 * time.Millisecond       // between two leases when the first found nothing
	minBackoff    = 200 * time.Millisecond       // after a failed exchange with the outbox
	maxBackoff    = time.Second                  // added to queryTimeout: the longest delay after the database is back
)

// Config configures a Dispatcher; the zero value is usable.
type Config struct {
	// MaxInFlight is how many deliveries may be in flight, default 128. A monitor
	// has one at most: if MaxInFlight exceeds the maximum of monitors
	// (section 8.5), no receiver can delay another one's deliveries.
	MaxInFlight int

	// LeaseDuration is how long a delivery belongs to this dispatcher, default
	// 30 s, at least 20 s: an attempt and its recording must fit in.
	LeaseDuration time.Duration

	// PollInterval is the longest time between two leases, default 1 s. It bounds
	// the delay of an event whose notification was lost.
	PollInterval time.Duration

	// GracePeriod is how long deliveries in flight may take after Run's context is
	// done, default 15 s.
	GracePeriod time.Duration

	Log *slog.Logger // default: nothing is logged

	// OnMonitorFailed is called with a monitor that has ended because its callback
	// failed (decision W4), so that its worker can be stopped. It must not
	// block. Default: nothing is called.
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
		return c, fmt.Errorf("delivery: MaxInFlight is %d; accepted is 1 or more", c.MaxInFlight)
	case c.LeaseDuration < minLease:
		return c, fmt.Errorf("delivery: LeaseDuration is %v; accepted is %v or more", c.LeaseDuration, minLease)
	case c.PollInterval < 0 || c.GracePeriod < 0:
		return c, errors.New("delivery: PollInterval and GracePeriod must not be negative")
	}
	return c, nil
}

// backoff returns the delay after the nth failure in a row, n from 1: minBackoff,
// doubled up to maxBackoff.
func backoff(n int) time.Duration {
	return min(minBackoff<<min(n-1, 10), maxBackoff)
}
