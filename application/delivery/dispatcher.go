package delivery

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Dispatcher carries letters from the outbox to their receivers. Any number of
// gateways may run one on the same outbox.
type Dispatcher struct {
	outbox Outbox
	sender Sender
	wake   <-chan struct{}
	cfg    Config
	log    *slog.Logger

	mu                sync.Mutex
	active            map[string]*inFlight // by event id
	leasing           bool                 // letters are being leased or handed out
	endedWhileLeasing []*inFlight          // meanwhile, delivered; at most Config.Workers
}

// New makes a dispatcher. wake says that the outbox has something new; it may
// be nil or be closed by its owner, and the dispatcher then only polls. Errors:
// a value of cfg out of its range.
func New(outbox Outbox, sender Sender, wake <-chan struct{}, cfg Config) (*Dispatcher, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return &Dispatcher{
		outbox: outbox,
		sender: sender,
		wake:   wake,
		cfg:    cfg,
		log:    cfg.Log.With("component", "dispatcher"),
		active: map[string]*inFlight{},
	}, nil
}

// Run delivers until ctx is done, then lets the letters in flight end, for
// Config.Grace at most, and returns when every goroutine of its has ended. A
// letter cut short then counts as not tried: its lease runs out and it is sent
// again by whoever comes next. Run is called once.
func (d *Dispatcher) Run(ctx context.Context) {
	sending, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()

	var couriers sync.WaitGroup
	slots := make(chan struct{}, d.cfg.MaxInFlight)
	freed := make(chan struct{}, 1) // a letter has ended: there is room, and its monitor's next may be due

	d.dispatch(ctx, slots, freed, func(l Delivery, until time.Time) {
		f, fresh := d.begin(l, until)
		if !fresh {
			return
		}
		slots <- struct{}{}
		couriers.Go(func() {
			d.deliver(sending, f)
			d.end(f)
			<-slots
			select {
			case freed <- struct{}{}:
			default:
			}
		})
	})

	idle := make(chan struct{})
	go func() { couriers.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-time.After(d.cfg.GracePeriod):
		abandon()
		<-idle
	}
}

// dispatch leases letters and hands each to carry, which must not block while
// there is a free slot, until ctx is done.
func (d *Dispatcher) dispatch(ctx context.Context, slots, freed chan struct{}, carry func(Delivery, time.Time)) {
	wake, failures := d.wake, 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		room := min(cap(slots)-len(slots), maxBatch)
		if room == 0 {
			select {
			case <-ctx.Done():
			case <-freed:
			}
			continue
		}

		d.beginLease()
		asked := time.Now()
		letters, err := d.lease(ctx, room)
		for _, l := range letters {
			carry(l, asked.Add(d.cfg.LeaseDuration))
		}
		d.endLease()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			failures++
			d.log.Warn("cannot read pending webhooks, will try again", "error", err.Error(), "pause_ms", backoff(failures).Milliseconds())
			timer.Reset(backoff(failures))
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			continue
		}
		failures = 0
		if len(letters) == room {
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

// untilDue is how long to sleep. A time that has already passed belongs to a
// letter that just now could not be had, and one that cannot be read is as good
// as none: either way the outbox is asked again soon, but not in a tight loop.
func (d *Dispatcher) untilDue(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	due, err := d.outbox.NextDue(ctx)
	if err != nil || due.IsZero() {
		return d.cfg.PollInterval
	}
	return min(max(time.Until(due), minPoll), d.cfg.PollInterval)
}
