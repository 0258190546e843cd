// Package loop leases deliveries from an outbox and sends each in a goroutine. Both kinds of
// deliveries, callbacks and those to destinations, have such a loop. Its guarantees are those of
// package delivery: none is sent twice at once, and none again after the receiver accepted it.
package loop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/backoff"
)

const (
	queryTimeout    = 3 * time.Second        // for one Lease or NextDue
	recordTimeout   = 5 * time.Second        // for one try to record a result
	minPollInterval = 100 * time.Millisecond // shortest pause between two Lease calls, if the first found nothing
)

// outboxBackoff is the pause after failed exchanges with the outbox. Once the database
// answers, deliveries continue within its maximum and queryTimeout.
var outboxBackoff = backoff.Policy{First: 200 * time.Millisecond, Max: time.Second}

// Delivery is a delivery under lease.
type Delivery[D any] interface {
	Key() string           // names what is sent: an event, or one message of a thread
	AttemptsMade() int     // before this one
	WithLeaseOf(other D) D // the delivery under the lease of another one with its key
}

// Outbox stores the pending deliveries. Its methods are those of the ports of callback and
// destination.
type Outbox[D any] interface {
	Lease(ctx context.Context, limit int, duration time.Duration) ([]D, error)
	NextDue(ctx context.Context) (time.Time, error)
}

// Config has the limits of a Loop.
type Config struct {
	MaxInFlight   int
	MaxLeased     int // in one Lease call
	LeaseDuration time.Duration
	PollInterval  time.Duration // the longest time between two Lease calls
	GracePeriod   time.Duration // for deliveries in flight after Run's context is done
}

// Loop leases the deliveries of one outbox and sends each in a goroutine.
type Loop[D Delivery[D]] struct {
	outbox   Outbox[D]
	deliver  func(ctx context.Context, e *Entry[D])
	wake     <-chan struct{}
	cfg      Config
	log      *slog.Logger
	inFlight inFlightSet[D]
}

// New returns a loop. deliver sends a delivery once and records the result. wake receives a
// value when the outbox has something new; it may be nil or be closed, and the loop then
// only polls.
func New[D Delivery[D]](outbox Outbox[D], deliver func(ctx context.Context, e *Entry[D]), wake <-chan struct{}, cfg Config, log *slog.Logger) *Loop[D] {
	return &Loop[D]{outbox: outbox, deliver: deliver, wake: wake, cfg: cfg, log: log, inFlight: inFlightSet[D]{byKey: map[string]*Entry[D]{}}}
}

// Current returns the delivery with its newest lease.
func (l *Loop[D]) Current(e *Entry[D]) D {
	d, _ := l.inFlight.current(e)
	return d
}

// MarkAccepted says that the receiver accepted the delivery. It is then not sent again by this
// process, even if the success can be stored only much later.
func (l *Loop[D]) MarkAccepted(e *Entry[D]) { l.inFlight.markAccepted(e) }

// Run sends deliveries until ctx is done. It then waits for those in flight, for
// Config.GracePeriod at most, and cancels the rest.
func (l *Loop[D]) Run(ctx context.Context) {
	sendCtx, cancelSends := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelSends()

	var senders sync.WaitGroup
	slots := make(chan struct{}, l.cfg.MaxInFlight)
	freed := make(chan struct{}, 1) // a delivery has ended: a slot is free, and the one behind it may be due

	l.dispatch(ctx, slots, freed, func(leased D, leasedUntil time.Time) {
		e, isNew := l.inFlight.addOrRenew(leased, leasedUntil)
		if !isNew {
			return
		}
		slots <- struct{}{}
		senders.Go(func() {
			l.deliver(sendCtx, e)
			l.inFlight.finish(e)
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
	case <-time.After(l.cfg.GracePeriod):
		cancelSends()
		<-sendersDone
	}
}

// dispatch leases deliveries and passes each to beginSend until ctx is done. It leases at
// most as many deliveries as slots are free.
func (l *Loop[D]) dispatch(ctx context.Context, slots, freed chan struct{}, beginSend func(leased D, leasedUntil time.Time)) {
	wake, failures := l.wake, 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		free := min(cap(slots)-len(slots), l.cfg.MaxLeased)
		if free == 0 {
			select {
			case <-ctx.Done():
			case <-freed:
			}
			continue
		}

		l.inFlight.beginLeaseCall()
		began := time.Now()
		leased, err := l.lease(ctx, free)
		for _, d := range leased {
			beginSend(d, began.Add(l.cfg.LeaseDuration))
		}
		l.inFlight.endLeaseCall()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			failures++
			l.log.Warn("cannot read pending deliveries, will try again", "error", err.Error(), "pause_ms", outboxBackoff.Delay(failures).Milliseconds())
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
		select {
		case <-freed: // the next one may be due: there is no need to ask when
			continue
		default:
		}

		timer.Reset(l.untilDue(ctx))
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

func (l *Loop[D]) lease(ctx context.Context, limit int) ([]D, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return l.outbox.Lease(ctx, limit, l.cfg.LeaseDuration)
}

// untilDue returns how long to sleep, at least minPollInterval. The next due time may be
// in the past, for example while another gateway is leasing that delivery.
func (l *Loop[D]) untilDue(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	due, err := l.outbox.NextDue(ctx)
	if err != nil || due.IsZero() {
		return l.cfg.PollInterval
	}
	return min(max(time.Until(due), minPollInterval), l.cfg.PollInterval)
}

// Record calls store, which stores the result of a delivery, and calls it again after an error
// until the lease expires. For an accepted delivery it does so until ctx is done, because only
// this process knows of the success. It calls it once even if ctx is done.
func (l *Loop[D]) Record(ctx context.Context, e *Entry[D], accepted bool, store func(ctx context.Context, leased D) error) error {
	for failures := 1; ; failures++ {
		leased, _ := l.inFlight.current(e)
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		err := store(limited, leased)
		cancel()
		if err == nil {
			return nil
		}
		delay := outboxBackoff.Delay(failures)
		if _, leasedUntil := l.inFlight.current(e); !accepted && !time.Now().Add(delay).Before(leasedUntil) {
			return err
		}
		if !wait.For(ctx, delay) {
			return err
		}
	}
}
