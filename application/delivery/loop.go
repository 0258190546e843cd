package delivery

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
)

// queue is an outbox as a loop uses it. Its functions are those of the port.
type queue[D leased[D]] struct {
	lease   func(ctx context.Context, limit int, duration time.Duration) ([]D, error)
	nextDue func(ctx context.Context) (time.Time, error)

	// deliver sends a delivery once and stores what came of it.
	deliver func(ctx context.Context, f *inFlightDelivery[D])
}

// loopConfig has the limits of a loop; see Config.
type loopConfig struct {
	maxInFlight   int
	maxLeased     int // in one lease call
	leaseDuration time.Duration
	pollInterval  time.Duration
	gracePeriod   time.Duration
}

// loop leases the deliveries of one queue and sends each in a goroutine.
type loop[D leased[D]] struct {
	queue    queue[D]
	wake     <-chan struct{}
	cfg      loopConfig
	log      *slog.Logger
	inFlight inFlightSet[D]
}

func newLoop[D leased[D]](q queue[D], wake <-chan struct{}, cfg loopConfig, log *slog.Logger) *loop[D] {
	return &loop[D]{queue: q, wake: wake, cfg: cfg, log: log, inFlight: inFlightSet[D]{byKey: map[string]*inFlightDelivery[D]{}}}
}

// run sends deliveries until ctx is done. It then waits for those in flight, for
// gracePeriod at most, and cancels the rest.
func (l *loop[D]) run(ctx context.Context) {
	sendCtx, cancelSends := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelSends()

	var senders sync.WaitGroup
	slots := make(chan struct{}, l.cfg.maxInFlight)
	freed := make(chan struct{}, 1) // a delivery has ended: a slot is free, and the one behind it may be due

	l.dispatch(ctx, slots, freed, func(leased D, leasedUntil time.Time) {
		f, isNew := l.inFlight.addOrRenew(leased, leasedUntil)
		if !isNew {
			return
		}
		slots <- struct{}{}
		senders.Go(func() {
			l.queue.deliver(sendCtx, f)
			l.inFlight.finish(f)
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
	case <-time.After(l.cfg.gracePeriod):
		cancelSends()
		<-sendersDone
	}
}

// dispatch leases deliveries and passes each to beginSend until ctx is done. It leases at
// most as many deliveries as slots are free.
func (l *loop[D]) dispatch(ctx context.Context, slots, freed chan struct{}, beginSend func(leased D, leasedUntil time.Time)) {
	wake, failures := l.wake, 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		free := min(cap(slots)-len(slots), l.cfg.maxLeased)
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
			beginSend(d, began.Add(l.cfg.leaseDuration))
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

func (l *loop[D]) lease(ctx context.Context, limit int) ([]D, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return l.queue.lease(ctx, limit, l.cfg.leaseDuration)
}

// untilDue returns how long to sleep, at least minPollInterval. The next due time may be
// in the past, for example while another gateway is leasing that delivery.
func (l *loop[D]) untilDue(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	due, err := l.queue.nextDue(ctx)
	if err != nil || due.IsZero() {
		return l.cfg.pollInterval
	}
	return min(max(time.Until(due), minPollInterval), l.cfg.pollInterval)
}

// record stores what came of a delivery and retries after an error. It retries until the
// lease expires. For an accepted delivery it retries until ctx is done, because only this
// process knows of the success. It tries once even if ctx is done.
func (l *loop[D]) record(ctx context.Context, f *inFlightDelivery[D], accepted bool, store func(ctx context.Context, leased D) error) error {
	for failures := 1; ; failures++ {
		leased, _ := l.inFlight.current(f)
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		err := store(limited, leased)
		cancel()
		if err == nil {
			return nil
		}
		delay := outboxBackoff.Delay(failures)
		if _, leasedUntil := l.inFlight.current(f); !accepted && !time.Now().Add(delay).Before(leasedUntil) {
			return err
		}
		if !wait.For(ctx, delay) {
			return err
		}
	}
}
