package callback

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	minLease  = delivery.SendTimeout + delivery.EvidenceTimeout + 10*time.Second // one attempt, and two tries to record it
	maxLeased = 32                                                               // deliveries in one Lease call
)

// Config configures a Dispatcher; the zero value is usable.
type Config struct {
	// MaxInFlight is how many deliveries may be in flight, default 128. Each monitor
	// has at most one in flight. If MaxInFlight exceeds MAX_MONITORS (section 8.5), slow
	// receivers cannot use up all slots, so they do not delay other monitors.
	MaxInFlight int

	// LeaseDuration is how long a delivery belongs to this dispatcher, default
	// 30 s, at least 20.5 s. One attempt and two tries to record it must end within it.
	LeaseDuration time.Duration

	// PollInterval is the longest time between two Lease calls, default 1 s. It bounds
	// the delay of an event whose notification was lost.
	PollInterval time.Duration

	// GracePeriod is how long deliveries in flight may take after Run's context is
	// done, default 15 s.
	GracePeriod time.Duration

	// Evidence finds what a webhook shows of an alert; nil: webhooks have no evidence.
	Evidence delivery.EvidenceFinder

	Zone *time.Location // of the times of evidence, default time.Local (decision A11)

	Log *slog.Logger // default: nothing is logged

	// OnMonitorFailed is called with a monitor that has ended because its callback
	// failed (decision W4), so that its worker can be stopped. It must not
	// block. Default: nothing is called.
	OnMonitorFailed func(monitor.ID)
}

// withDefaults fills in defaults. Errors: a value is out of its range.
func (c Config) withDefaults() (Config, error) {
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
	if c.Zone == nil {
		c.Zone = time.Local
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.OnMonitorFailed == nil {
		c.OnMonitorFailed = func(monitor.ID) {}
	}
	switch {
	case c.MaxInFlight < 0:
		return c, fmt.Errorf("callback: MaxInFlight is %d; accepted is 1 or more", c.MaxInFlight)
	case c.LeaseDuration < minLease:
		return c, fmt.Errorf("callback: LeaseDuration is %v; accepted is %v or more", c.LeaseDuration, minLease)
	case c.PollInterval < 0 || c.GracePeriod < 0:
		return c, errors.New("callback: PollInterval and GracePeriod must not be negative")
	}
	return c, nil
}
