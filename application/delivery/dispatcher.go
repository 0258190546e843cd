package delivery

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Dispatcher sends the deliveries of an outbox. Any number of gateways may run a
// Dispatcher on the same outbox.
type Dispatcher struct {
	outbox   Outbox
	sender   Sender
	wake     <-chan struct{}
	cfg      Config
	log      *slog.Logger
	inFlight inFlightSet
}

// New returns a dispatcher. wake receives a value when the outbox has a new
// event; it may be nil, and if its owner closes it, the dispatcher only polls.
// Errors: a value of cfg is out of its range.
func New(outbox Outbox, sender Sender, wake <-chan struct{}, cfg Config) (*Dispatcher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Dispatcher{
		outbox:   outbox,
		sender:   sender,
		wake:     wake,
		cfg:      cfg,
		log:      cfg.Log.With("component", "dispatcher"),
		inFlight: inFlightSet{byEvent: map[string]*inFlightDelivery{}},
	}, nil
}

// Run sends deliveries until ctx is done. It then waits for those in flight, for
// Config.GracePeriod at most, and cancels the rest. It returns when all its goroutines
// have ended. A cancelled delivery does not count as an attempt: its lease expires, and
// a dispatcher sends it again. Run is called once.
func (d *Dispatcher) Run(ctx context.Context) {
	sendCtx, cancelSends := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelSends()

	var senders sync.WaitGroup
	slots := make(chan struct{}, d.cfg.MaxInFlight)
	freed := make(chan struct{}, 1) // a delivery has ended: a slot is free, and the monitor's next event may be due

	d.dispatch(ctx, slots, freed, func(leased Delivery, leasedUntil time.Time) {
		f, isNew := d.inFlight.addOrRenew(leased, leasedUntil)
		if !isNew {
			return
		}
		slots <- struct{}{}
		senders.Go(func() {
			d.deliver(sendCtx, f)
			d.inFlight.finish(f)
			<-slots
			select {
			case freed <- struct{}{}:
			default:
			}
		})
	})

	sendersDone := make(chan struct{})
	go func() { senders.Wait(); close(sendersDone) }()
	select {
	case <-sendersDone:
	case <-time.After(d.cfg.GracePeriod):
		cancelSends()
		<-sendersDone
	}
}

// dispatch leases deliveries and passes each to beginSend until ctx is done. It leases at
// most as many deliveries as slots are free.
func (d *Dispatcher) dispatch(ctx context.Context, slots, freed chan struct{}, beginSend func(leased Delivery, leasedUntil time.Time)) {
	wake, failures := d.wake, 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		free := min(cap(slots)-len(slots), maxLeased)
		if free == 0 {
			select {
			case <-ctx.Done():
			case <-freed:
			}
			continue
		}

		d.inFlight.beginLeaseCall()
		began := time.Now()
		leased, err := d.lease(ctx, free)
		for _, l := range leased {
			beginSend(l, began.Add(d.cfg.LeaseDuration))
		}
		d.inFlight.endLeaseCall()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			failures++
			d.log.Warn("cannot read pending webhooks, will try again", "error", err.Error(), "pause_ms", outboxBackoff.Delay(failures).Milliseconds())
			timer.Reset(outboxBackoff.Delay(failures))
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			continue
		}
		failures = 0
		if len(leased) == free {
			continue
		}

		timer.Reset(d.untilDue(ctx))
		select {
		case <-ctx.Done():
		case <-freed:
		case <-timer.C:
		case _, open := <-wake:
			if !open {
				wake = nil
			}
		}
	}
}

func (d *Dispatcher) lease(ctx context.Context, limit int) ([]Delivery, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return d.outbox.Lease(ctx, limit, d.cfg.LeaseDuration)
}

// untilDue returns how long to sleep, at least minPollInterval. The next due time may be
// in the past, for example while another gateway is leasing that delivery.
func (d *Dispatcher) untilDue(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	due, err := d.outbox.NextDue(ctx)
	if err != nil || due.IsZero() {
		return d.cfg.PollInterval
	}
	return min(max(time.Until(due), minPollInterval), d.cfg.PollInterval)
}
