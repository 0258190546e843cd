package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Promoter turns reservations into monitors with a worker when they are due
// (decision A10). These are monitors reserved until a time of day, monitors just
// registered by this gateway, and monitors released by a gateway that has stopped.
// Each gateway promotes the monitors that it registered; the leader also promotes all
// reservations that are due.
type Promoter struct {
	store     Store
	runtimeID string
	workers   *WorkerManager
	poll      time.Duration // longest time between two rounds
	now       func() time.Time
	log       *slog.Logger

	roundLock  chan struct{} // a mutex: a round takes the value and puts it back
	unpromoted []Reservation // claimed by this gateway; used only during a round
	resumed    int           // monitors promoted after a handover, since the start; used only during a round

	mu              sync.Mutex
	newlyRegistered []Reservation // reservations that their registration claimed, for the next round
	wake            chan struct{} // receives when newlyRegistered has grown
}

// Promote promotes reservations until ctx is done: those that this gateway has
// claimed, and, while it is the leader, all that are due. It is called once.
func (p *Promoter) Promote(ctx context.Context) {
	for failures := 0; ; {
		next, _, err := p.round(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := p.untilDue(next)
		if err == nil {
			failures = 0
		} else {
			failures++
			pause = retryBackoff.Delay(failures)
			p.log.Warn("cannot promote reservations, will try again", "error", err.Error(), "pause_sec", pause.Seconds())
		}
		if !wait.ForOrUntil(ctx, pause, p.wake) {
			return
		}
	}
}

// promoteAllDue promotes all reservations that are due now. They include the monitors
// that a stopped gateway has released. It returns how many monitors this gateway has
// resumed since its start. After an error it stops; Promote tries again.
func (p *Promoter) promoteAllDue(ctx context.Context) int {
	for {
		if _, claimed, err := p.round(ctx); err != nil || claimed == 0 {
			break
		}
	}
	select {
	case <-p.roundLock:
		defer func() { p.roundLock <- struct{}{} }()
		return p.resumed
	case <-ctx.Done():
		return 0
	}
}

// round promotes the claimed reservations and, on the leader, claims and promotes some
// that are due. next is when the next reservation is due, zero if that is not known;
// claimedNow is how many it has claimed. One round runs at a time.
func (p *Promoter) round(ctx context.Context) (next time.Time, claimedNow int, err error) {
	select {
	case <-p.roundLock:
		defer func() { p.roundLock <- struct{}{} }()
	case <-ctx.Done():
		return next, 0, ctx.Err()
	}
	p.unpromoted = append(p.unpromoted, p.takeRegistered()...)
	claimed, next, err := p.claimDue(ctx)
	p.unpromoted = append(withoutReclaimed(p.unpromoted, claimed), claimed...)
	return next, len(claimed), errors.Join(err, p.promoteClaimed(ctx))
}

// enqueue adds a reservation that its registration has claimed for this gateway.
func (p *Promoter) enqueue(r Reservation) {
	p.mu.Lock()
	p.newlyRegistered = append(p.newlyRegistered, r)
	p.mu.Unlock()
	notify(p.wake)
}

func (p *Promoter) takeRegistered() []Reservation {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.newlyRegistered
	p.newlyRegistered = nil
	return all
}

func (p *Promoter) claimDue(ctx context.Context) ([]Reservation, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	if leader, err := p.store.TryLead(ctx); err != nil || !leader {
		return nil, time.Time{}, err
	}
	return p.store.ClaimDue(ctx, claimTerm)
}

// untilDue is the pause until the next round.
func (p *Promoter) untilDue(next time.Time) time.Duration {
	if next.IsZero() {
		return p.poll
	}
	return min(max(next.Sub(p.now()), minPollInterval), p.poll)
}

// promoteClaimed promotes the claimed reservations and starts their workers. It keeps a
// reservation after an error and promotes it again in the next round. The promotion may
// have been stored, and then only this gateway knows that the worker must start. If
// another gateway has claimed the reservation meanwhile, Promote refuses it.
func (p *Promoter) promoteClaimed(ctx context.Context) (err error) {
	var undecided []Reservation
	for _, r := range p.unpromoted {
		m, failure := p.promote(ctx, r)
		var refusal *monitor.Error
		switch {
		case failure == nil:
			p.logPromotion(r, m)
			p.workers.Start(m)
			p.workers.setPromotingGeneration(r.ID, 0)
		case errors.Is(failure, monitor.ErrSuperseded), errors.As(failure, &refusal):
			p.log.Debug("reservation not promoted", "monitor_id", string(r.ID), "generation", r.Generation, "reason", failure.Error())
			p.workers.setPromotingGeneration(r.ID, 0)
		default:
			undecided = append(undecided, r)
			err = errors.Join(err, failure)
		}
	}
	p.unpromoted = undecided
	return err
}

func (p *Promoter) promote(ctx context.Context, r Reservation) (monitor.Monitor, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	p.workers.setPromotingGeneration(r.ID, r.Generation)
	return p.store.Promote(ctx, r, p.runtimeID)
}

// logPromotion logs a promotion and counts it if the monitor was handed over. For a
// monitor that was just registered it logs at level debug: the operator made no reservation.
func (p *Promoter) logPromotion(r Reservation, m monitor.Monitor) {
	log := p.log.With("monitor_id", string(r.ID), "generation", m.Generation)
	switch {
	case r.HandedOver:
		p.resumed++
		log.Info("monitor resumed after its gateway stopped, its worker is launched")
	case m.Status == monitor.Waiting:
		log.Info("reservation promoted")
	default:
		log.Debug("registered monitor gets its worker")
	}
}

// withoutReclaimed removes the reservations that were claimed again. Promote refuses
// their older generation.
func withoutReclaimed(claimed, again []Reservation) []Reservation {
	return slices.DeleteFunc(claimed, func(r Reservation) bool {
		return slices.ContainsFunc(again, func(a Reservation) bool { return a.ID == r.ID })
	})
}
