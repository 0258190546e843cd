package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Reconcile brings monitors and workers together when a gateway starts (section
// 10.4): it adopts workers that outlived an earlier gateway, deals with those
// that are missing by the policy, and ends those that nobody needs. It may be
// repeated. It blocks until that is done, or for Config.ReconcileTimeout; what
// is not done by then Watch goes on with, and the monitors concerned are told.
// It is called once, before Watch; Run must be running.
func (s *Supervisor) Reconcile(ctx context.Context) {
	began, start := time.Now(), s.cfg.Now()
	within, cancel := context.WithTimeout(ctx, s.cfg.ReconcileTimeout)
	defer cancel()
	r := newReport("startup reconciliation")
	err := s.compare(within, r)
	if err == nil && s.launcher.Runtime().Shared && wait(within, s.cfg.ExitGracePeriod) {
		err = s.compare(within, r) // only the second look tells who is missing there
	}
	r.wait(within)
	late := within.Err() != nil && ctx.Err() == nil
	if late {
		s.late = &apology{start: start, concerns: r.unsettled(), events: map[monitor.ID]event.Event{}, told: map[monitor.ID]bool{}}
	}
	s.log.Info("Startup Reconciliation Report", r.summary(time.Since(began), late, err)...)
}

// Watch goes on comparing monitors and workers until ctx is done: report leases
// run out, gateways die, workers are left behind (decisions O3, O5).
func (s *Supervisor) Watch(ctx context.Context) {
	failures := 0
	for sleep := s.cfg.ReconcileInterval; wait(ctx, sleep); {
		err := s.round(ctx)
		switch {
		case err == nil:
			sleep, failures = s.cfg.ReconcileInterval, 0
		case ctx.Err() == nil:
			failures++
			sleep = min(pause(failures), s.cfg.ReconcileInterval)
			s.log.Warn("cannot compare monitors and workers, will try again", "error", err.Error(), "pause_sec", sleep.Seconds())
		}
	}
}

// compare looks and settles what it sees, again and again until it could look.
func (s *Supervisor) compare(ctx context.Context, r *report) error {
	return s.persist(ctx, endless, "compare monitors and workers", func(ctx context.Context) error {
		v, err := s.take(ctx)
		switch {
		case err != nil:
			return err
		case v.blind != nil:
			return v.blind
		}
		s.settle(ctx, v, r)
		return nil
	})
}

func (s *Supervisor) round(ctx context.Context) error {
	once, cancel := context.WithTimeout(ctx, exchangeLimit)
	defer cancel()
	v, err := s.take(once)
	if err == nil {
		s.settle(once, v, newReport("reconciliation"))
		err = v.blind
	}
	if s.late == nil {
		return err
	}
	late, cancel := context.WithTimeout(ctx, exchangeLimit)
	defer cancel()
	return errors.Join(err, s.apologise(late))
}

// apology is what remains to be told of a reconciliation at the start that took
// too long.
type apology struct {
	start    time.Time // of it; who was registered after that is not concerned
	concerns func(monitor.ID) bool
	events   map[monitor.ID]event.Event // once made, the same at every try
	told     map[monitor.ID]bool
}

// apologise tells the monitors that the reconciliation at the start did not come
// to in time (section 10.4). They go on: theirs is not a terminal error. When they
// were registered is by the clock of the gateway that did so: should it differ from
// this one's by some seconds, one registered in just these is told or spared wrongly,
// which changes nothing else.
func (s *Supervisor) apologise(ctx context.Context) error {
	elected, err := s.roster.TryLead(ctx)
	if err != nil {
		return err
	}
	active, err := s.roster.ListActive(ctx)
	if err != nil {
		return err
	}
	var untold error
	changed := false
	for _, m := range active {
		if s.late.told[m.ID] || m.CreatedAt.After(s.late.start) || !s.late.concerns(m.ID) || !elected && !s.own(m) {
			continue
		}
		e, made := s.late.events[m.ID]
		if !made {
			e = event.Event{ID: s.cfg.NewEventID(), Type: event.MonitorError, At: s.cfg.Now(), Data: event.Trouble{
				Reason: event.ReasonReconcileTimeout,
				ErrorDetails: fmt.Sprintf("whether this monitor's worker runs could not be found out within %v of the gateway's start; it goes on trying",
					s.cfg.ReconcileTimeout),
			}}
			s.late.events[m.ID] = e
		}
		switch err := s.tell(ctx, m, e); {
		case err == nil:
			s.late.told[m.ID] = true
		case errors.Is(err, monitor.ErrSuperseded):
			changed = true // its worker is being replaced: it is told at the next look
		default:
			untold = errors.Join(untold, err)
		}
	}
	if untold == nil && !changed {
		s.late = nil
	}
	return untold
}

// tell has one event stored, in a time that leaves some for the others; there is
// nothing to tell a monitor that has ended.
func (s *Supervisor) tell(ctx context.Context, m monitor.Monitor, e event.Event) error {
	ctx, cancel := context.WithTimeout(ctx, tellLimit)
	defer cancel()
	err := s.roster.AddEvent(ctx, m, e)
	if overtaken(err) && !errors.Is(err, monitor.ErrSuperseded) {
		return nil
	}
	return err
}
