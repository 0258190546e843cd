package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Promoter turns reservations into monitors with a worker when they are due
// (decision A10). These are monitors reserved until a time of day, monitors just
// registered by this gateway, and monitors released by a gateway that has stopped.
// Several gateways may do so at once; the leader looks for those that are due.
type Promoter struct {
	store     Store
	runtimeID string
	workers   *WorkerManager
	poll      time.Duration // longest time between two rounds
	now       func() time.Time
	log       *slog.Logger

	rounds  chan struct{} // holds a value while no round is under way
	claimed []Reservation // not decided yet; only a round uses it
	resumed int           // monitors released by another gateway; likewise

	mu         sync.Mutex
	registered []Reservation // claimed by their registration, for the next round
	wake       chan struct{} // receives when registered has grown
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
			pause = backoff(failures)
			p.log.Warn("cannot promote reservations, will try again", "error", err.Error(), "pause_sec", pause.Seconds())
		}
		if !wait(ctx, pause, p.wake) {
			return
		}
	}
}

// resume promotes all reservations that are due now, which include the monitors that a
// stopped gateway has released. It returns how many of those were resumed since this
// gateway's start. Promote retries what fails.
func (p *Promoter) resume(ctx context.Context) int {
	for {
		if _, claimed, err := p.round(ctx); err != nil || claimed == 0 {
			break
		}
	}
	select {
	case <-p.rounds:
		defer func() { p.rounds <- struct{}{} }()
		return p.resumed
	case <-ctx.Done():
		return 0
	}
}

// round promotes the reservations that are claimed or due now. next is when the next
// reservation is due, zero if that is not known; due is how many were due now. One
// round runs at a time.
func (p *Promoter) round(ctx context.Context) (next time.Time, due int, err error) {
	select {
	case <-p.rounds:
		defer func() { p.rounds <- struct{}{} }()
	case <-ctx.Done():
		return next, 0, ctx.Err()
	}
	p.claimed = append(p.claimed, p.takeRegistered()...)
	claimed, next, err := p.claimDue(ctx)
	p.claimed = append(withoutReclaimed(p.claimed, claimed), claimed...)
	return next, len(claimed), errors.Join(err, p.promoteClaimed(ctx))
}

// enqueue adds a reservation that its registration has claimed for this gateway.
func (p *Promoter) enqueue(r Reservation) {
	p.mu.Lock()
	p.registered = append(p.registered, r)
	p.mu.Unlock()
	notify(p.wake)
}

func (p *Promoter) takeRegistered() []Reservation {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.registered
	p.registered = nil
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

// promoteClaimed promotes the claimed reservations and asks for their workers. It
// keeps a reservation whose outcome is unknown and promotes it again. If the first
// call did succeed, no other gateway would notice the missing worker. If it did not,
// the next claim, with another generation, settles it.
func (p *Promoter) promoteClaimed(ctx context.Context) (err error) {
	var undecided []Reservation
	for _, r := range p.claimed {
		m, failure := p.promote(ctx, r)
		var refusal *monitor.Error
		switch {
		case failure == nil:
			p.logPromotion(r, m)
			p.workers.Start(m)
			p.workers.setPromoting(r.ID, 0)
		case errors.Is(failure, monitor.ErrSuperseded), errors.As(failure, &refusal):
			p.log.Debug("reservation not promoted", "monitor_id", string(r.ID), "generation", r.Generation, "reason", failure.Error())
			p.workers.setPromoting(r.ID, 0)
		default:
			undecided = append(undecided, r)
			err = errors.Join(err, failure)
		}
	}
	p.claimed = undecided
	return err
}

func (p *Promoter) promote(ctx context.Context, r Reservation) (monitor.Monitor, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	p.workers.setPromoting(r.ID, r.Generation)
	return p.store.Promote(ctx, r, p.runtimeID)
}

// logPromotion counts a monitor that another gateway has released. A monitor that
// was just registered is no reservation to an operator.
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

// withoutReclaimed leaves out what was claimed again: its older generation cannot
// be promoted any more.
func withoutReclaimed(claimed, again []Reservation) []Reservation {
	return slices.DeleteFunc(claimed, func(r Reservation) bool {
		return slices.ContainsFunc(again, func(a Reservation) bool { return a.ID == r.ID })
	})
}
