package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/backoff"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const (
	leaseDuration   = 30 * time.Second       // one attempt with its picture or evidence, and two tries to record it, end within it
	maxLeased       = 128                    // deliveries in one Lease call
	recordTimeout   = 5 * time.Second        // for one try to record an outcome
	pollInterval    = time.Second            // the longest time between two Lease calls: a notification may be lost
	minPollInterval = 100 * time.Millisecond // shortest pause between two Lease calls, unless more is due at once
)

// outboxBackoff is the pause after failed exchanges with the outbox. Once the database
// answers, deliveries continue within its maximum and the time of a Lease call.
var outboxBackoff = backoff.Policy{First: 200 * time.Millisecond, Max: time.Second}

// Config configures a Dispatcher; the zero value is usable.
type Config struct {
	// MaxInFlight is how many deliveries may be in flight, default 928: a slot for each of 128
	// callbacks, and notify.MaxPerDestination for each of 200 destinations. With a slot for
	// each of them, receivers that hang delay no other one.
	MaxInFlight int

	// GracePeriod is how long deliveries in flight may take after Run's context is
	// done, default 15 s.
	GracePeriod time.Duration

	// Now is the clock that measures how much time has passed, default time.Now.
	Now func() time.Time

	Log *slog.Logger // default: nothing is logged

	// OnMonitorFailed is called with a monitor that has ended because its callback
	// failed (decision W4), so that its worker can be stopped. It must not
	// block. Default: nothing is called.
	OnMonitorFailed func(monitor.ID)
}

// withDefaults fills in defaults. Errors: a value is out of its range.
func (c Config) withDefaults() (Config, error) {
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 928
	}
	if c.GracePeriod == 0 {
		c.GracePeriod = 15 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
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
	case c.GracePeriod < 0:
		return c, errors.New("delivery: GracePeriod must not be negative")
	}
	return c, nil
}

// Dispatcher sends the deliveries of an outbox. Any number of gateways may run a
// Dispatcher on the same outbox.
type Dispatcher struct {
	outbox   Outbox
	sender   *Sender
	wake     <-chan struct{}
	cfg      Config
	log      *slog.Logger
	inFlight inFlight
	slots    chan struct{} // holds one for each delivery in flight
	freed    chan struct{} // a delivery has ended, and its slot is free
	due      chan struct{} // something is due that was not, or will be
}

// New returns a dispatcher. wake receives a value when the outbox has something new; it may
// be nil, and if its owner closes it, the dispatcher only polls.
// Errors: a value of cfg is out of its range.
func New(outbox Outbox, sender *Sender, wake <-chan struct{}, cfg Config) (*Dispatcher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Dispatcher{
		outbox: outbox, sender: sender, wake: wake, cfg: cfg, log: cfg.Log.With("component", "dispatcher"),
		inFlight: inFlight{keys: map[string]bool{}}, slots: make(chan struct{}, cfg.MaxInFlight), freed: make(chan struct{}, 1), due: make(chan struct{}, 1),
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
	d.dispatch(ctx, func(leased Delivery, leasedUntil time.Time) {
		if !d.inFlight.begin(leased.key()) {
			return
		}
		d.slots <- struct{}{}
		senders.Go(func() {
			accepted, due := d.deliver(sendCtx, leased, leasedUntil)
			d.inFlight.end(leased.key(), accepted)
			<-d.slots
			signal(d.freed)
			if due {
				signal(d.due)
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

// signal sends to a channel with a buffer of one, unless it is full.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// dispatch leases deliveries and passes each to begin until ctx is done. It leases at most as many as slots are
// free. It looks for more when it is woken, when something is due by what it knows, and once in pollInterval. The end
// of a delivery alone is a reason only if others wait for it.
func (d *Dispatcher) dispatch(ctx context.Context, begin func(leased Delivery, leasedUntil time.Time)) {
	wake, failures := d.wake, 0
	for ctx.Err() == nil {
		select {
		case <-d.freed: // before this lease
		default:
		}
		free := min(cap(d.slots)-len(d.slots), maxLeased)
		if free == 0 {
			select {
			case <-ctx.Done():
			case <-d.freed:
			}
			continue
		}
		began := time.Now()
		d.inFlight.beginLease()
		leased, err := d.outbox.Lease(ctx, free, leaseDuration)
		for _, one := range leased.Deliveries {
			begin(one, began.Add(leaseDuration))
		}
		d.inFlight.endLease()
		if err != nil {
			if failures++; ctx.Err() == nil {
				d.log.Warn("cannot read pending deliveries, will try again", "error", err.Error(), "pause_ms", outboxBackoff.Delay(failures).Milliseconds())
			}
			wait.For(ctx, outboxBackoff.Delay(failures))
			continue
		}
		failures = 0
		if leased.More {
			continue
		}
		pause, freed := pollInterval, d.freed
		if !leased.NextAt.IsZero() { // it may be in the past, for example while another gateway is leasing that delivery
			pause = min(max(time.Until(leased.NextAt), minPollInterval), pollInterval)
		}
		if !leased.Waits {
			freed = nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-freed:
		case <-d.due:
		case <-timer.C:
		case _, open := <-wake:
			if !open {
				wake = nil
			}
		}
		timer.Stop()
	}
}

// deliver sends a delivery once and records what came of it. due is Recorded.Due.
func (d *Dispatcher) deliver(ctx context.Context, leased Delivery, leasedUntil time.Time) (accepted, due bool) {
	log := d.log.With(leased.attributes()...)
	began := d.cfg.Now()
	result := d.sender.send(ctx, leased, log)
	if ctx.Err() != nil && !result.Accepted() {
		log.Info("delivery cut short by the shutdown, will be sent again")
		return false, false
	}
	o := outcomeOf(leased, result, began, d.cfg.Now())
	recorded, err := d.record(ctx, leased, leasedUntil, o)
	if err != nil {
		log.Error("result of a delivery could not be stored, the gateway will send it again", "error", err.Error(), "delivered", o.Delivered)
		return o.Delivered, false
	}
	logOutcome(log.With("attempt", leased.Tried+1, "status", o.Status), leased, o, recorded)
	if recorded.EndedMonitor != "" {
		d.cfg.OnMonitorFailed(recorded.EndedMonitor)
	}
	return o.Delivered, recorded.Due
}

// outcomeOf returns what follows from a result. The delivery was leased at began. Outcome.Notified
// has times of the database.
func outcomeOf(leased Delivery, r message.Result, began, now time.Time) Outcome {
	o := Outcome{
		Decision: leased.Policy.Decide(notify.Attempted{
			At: now, RoundBeganAt: began.Add(-leased.Age), FailingSince: leased.toProcessClock(leased.FailingSince, began),
			Number: leased.Tried + 1, Class: r.Class, RetryAfter: r.RetryAfter,
		}, rand.Float64()),
		Result: r,
	}
	m := leased.Message
	switch {
	case !leased.isThread():
	case o.Delivered:
		notified := leased.Notified.After(m.Situation, m.NextMessage, leased.Now.Add(now.Sub(began)), r.Ref)
		o.Notified = &notified
	case r.Status == 0:
		notified := leased.Notified.Unanswered(m.NextMessage)
		o.Notified = &notified
	}
	return o
}

// record stores an outcome, and tries again after an error until the lease expires. An accepted
// delivery is tried until ctx is done, because only this process knows of the success. It tries
// once even if ctx is done.
func (d *Dispatcher) record(ctx context.Context, leased Delivery, leasedUntil time.Time, o Outcome) (Recorded, error) {
	for failures := 1; ; failures++ {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		recorded, err := d.outbox.Record(limited, leased, o)
		cancel()
		delay := outboxBackoff.Delay(failures)
		if err == nil || !o.Delivered && !time.Now().Add(delay).Before(leasedUntil) || !wait.For(ctx, delay) {
			return recorded, err
		}
	}
}
