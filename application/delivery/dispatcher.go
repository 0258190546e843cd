package delivery

import (
	"context"
	"log/slog"
)

// Dispatcher sends the deliveries of an outbox. Any number of gateways may run a
// Dispatcher on the same outbox.
type Dispatcher struct {
	outbox Outbox
	sender Sender
	cfg    Config
	log    *slog.Logger
	loop   *loop[Delivery]
}

// New returns a dispatcher. wake receives a value when the outbox has a new
// event; it may be nil, and if its owner closes it, the dispatcher only polls.
// Errors: a value of cfg is out of its range.
func New(outbox Outbox, sender Sender, wake <-chan struct{}, cfg Config) (*Dispatcher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{outbox: outbox, sender: sender, cfg: cfg, log: cfg.Log.With("component", "dispatcher")}
	d.loop = newLoop(queue[Delivery]{outbox.Lease, outbox.NextDue, d.deliver}, wake, loopConfig{
		maxInFlight: cfg.MaxInFlight, maxLeased: maxLeased, leaseDuration: cfg.LeaseDuration, pollInterval: cfg.PollInterval, gracePeriod: cfg.GracePeriod,
	}, d.log)
	return d, nil
}

// Run sends deliveries until ctx is done. It then waits for those in flight, for
// Config.GracePeriod at most, and cancels the rest. It returns when all its goroutines
// have ended. A cancelled delivery does not count as an attempt: its lease expires, and
// a dispatcher sends it again. Run is called once.
func (d *Dispatcher) Run(ctx context.Context) { d.loop.run(ctx) }
