package supervise

import (
	"context"
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
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, s.cfg.ReconcileTimeout)
	defer cancel()
	r := newReport("startup reconciliation")
	err := s.persist(within, endless, "compare monitors and workers", func(ctx context.Context) error {
		v, err := s.take(ctx)
		if err == nil {
			s.settle(ctx, v, r)
		}
		return err
	})
	r.wait(within)
	late := within.Err() != nil && ctx.Err() == nil
	if late {
		s.late = &apology{concerns: r.unsettled(), events: map[monitor.ID]event.Event{}}
	}
	s.log.Info("Startup Reconciliation Report", r.summary(time.Since(began), late, err)...)
}

// Watch goes on comparing monitors and workers until ctx is done: report leases
// run out, gateways die, workers are left behind (decisions O3, O5).
func (s *Supervisor) Watch(ctx context.Context) {
	failures := 0
	for sleep := s.cfg.Look; wait(ctx, sleep); {
		err := s.round(ctx)
		switch {
		case err == nil:
			sleep, failures = s.cfg.Look, 0
		case ctx.Err() == nil:
			failures++
			sleep = min(pause(failures), s.cfg.Look)
			s.log.Warn("cannot compare monitors and workers, will try again", "error", err.Error(), "pause_sec", sleep.Seconds())
		}
	}
}

func (s *Supervisor) round(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeLimit)
	defer cancel()
	late := s.apologise(ctx)
	v, err := s.take(ctx)
	if err != nil {
		return err
	}
	s.settle(ctx, v, newReport("reconciliation"))
	return late
}

// apology is what remains to be told of a reconciliation at the start that took
// too long.
type apology struct {
	concerns func(monitor.ID) bool
	events   map[monitor.ID]event.Event // once made, the same at every try
}

// apologise tells the monitors that the reconciliation at the start did not come
// to in time (section 10.4). They go on: theirs is not a terminal error.
func (s *Supervisor) apologise(ctx context.Context) error {
	if s.late == nil {
		return nil
	}
	elected, err := s.roster.Lead(ctx)
	if err != nil {
		return err
	}
	active, err := s.roster.Active(ctx)
	if err != nil {
		return err
	}
	for _, m := range active {
		if !s.late.concerns(m.ID) || !elected && !s.own(m) {
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
		if err := s.roster.Tell(ctx, m.Monitor, e); err != nil && !overtaken(err) {
			return err
		}
	}
	s.late = nil
	return nil
}
