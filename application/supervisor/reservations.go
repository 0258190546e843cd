package supervisor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Promote gives reservations their workers, each when its time has come
// (decision A10), until ctx is done: those that this gateway has taken itself,
// and, while it is elected, all that are due (decision O5). Several gateways may
// do so at once. It is called once.
func (s *Supervisor) Promote(ctx context.Context) {
	var taken []Reservation // by this gateway, and not known to be promoted
	failures := 0           // rounds in a row
	for {
		taken = append(taken, s.takeHanded()...)
		due, next, err := s.due(ctx)
		taken, err = s.promote(ctx, append(without(taken, due), due...), err)
		if ctx.Err() != nil {
			return
		}
		sleep := s.untilDue(next)
		if err == nil {
			failures = 0
		} else {
			failures++
			sleep = pause(failures)
			s.log.Warn("cannot promote reservations, will try again", "error", err.Error(), "pause_sec", sleep.Seconds())
		}
		if !s.rest(ctx, sleep) {
			return
		}
	}
}

// hand gives Promote a reservation that this gateway has taken.
func (s *Supervisor) hand(r Reservation) {
	s.mu.Lock()
	s.handed = append(s.handed, r)
	s.mu.Unlock()
	select {
	case s.knock <- struct{}{}:
	default:
	}
}

func (s *Supervisor) takeHanded() []Reservation {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.handed
	s.handed = nil
	return all
}

// rest waits for d or until something is handed over, and tells whether to go
// on.
func (s *Supervisor) rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.knock:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func (s *Supervisor) due(ctx context.Context) ([]Reservation, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeLimit)
	defer cancel()
	if elected, err := s.roster.TryLead(ctx); err != nil || !elected {
		return nil, time.Time{}, err
	}
	return s.roster.ClaimDue(ctx, takenFor)
}

// untilDue is how long to sleep. A time that has already passed belongs to
// reservations that just now could not be had, such as those beyond what Due
// gives at once: it is asked again soon, but not in a tight loop.
func (s *Supervisor) untilDue(next time.Time) time.Duration {
	if next.IsZero() {
		return s.cfg.ReservationPollInterval
	}
	return min(max(next.Sub(s.cfg.Now()), soonest), s.cfg.ReservationPollInterval)
}

// promote asks for the workers of what was taken. It gives back those of which
// it could not learn whether they are promoted: if one is, nobody but this
// gateway can know that its worker is missing. Sooner or later it is learned,
// because what was not promoted is soon due again, with another generation.
func (s *Supervisor) promote(ctx context.Context, taken []Reservation, err error) ([]Reservation, error) {
	var undecided []Reservation
	for _, r := range taken {
		m, failed := s.promoteOne(ctx, r)
		var gone *monitor.Error
		switch {
		case failed == nil:
			s.log.Info("reservation promoted", "monitor_id", string(r.ID), "generation", m.Generation)
			s.Start(m)
			s.unclaim(r.ID)
		case errors.Is(failed, monitor.ErrSuperseded), errors.As(failed, &gone):
			s.log.Debug("reservation not promoted", "monitor_id", string(r.ID), "generation", r.Generation, "reason", failed.Error())
			s.unclaim(r.ID)
		default:
			undecided = append(undecided, r)
			err = errors.Join(err, failed)
		}
	}
	return undecided, err
}

// without leaves out what was taken anew: its older generation can be promoted no
// more.
func without(taken, anew []Reservation) []Reservation {
	return slices.DeleteFunc(taken, func(r Reservation) bool {
		return slices.ContainsFunc(anew, func(a Reservation) bool { return a.ID == r.ID })
	})
}

// promoteOne promotes one. Until its outcome is known the monitor is in this
// gateway's charge: nobody must miss a worker that is about to be launched.
func (s *Supervisor) promoteOne(ctx context.Context, r Reservation) (monitor.Monitor, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeLimit)
	defer cancel()
	s.mu.Lock()
	s.claims[r.ID] = r.Generation
	s.mu.Unlock()
	return s.roster.Promote(ctx, r, s.launcher.Runtime().ID)
}

func (s *Supervisor) unclaim(id monitor.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claims, id)
}
