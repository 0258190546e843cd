package supervise

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// view is what one look shows.
type view struct {
	elected bool
	active  map[monitor.ID]monitor.Monitor
	workers map[monitor.ID]int // generations
}

// take looks. The workers come first: whoever was launched before is, if still
// wanted, among the active monitors read after that.
func (s *Supervisor) take(ctx context.Context) (v view, err error) {
	workers, err := s.launcher.Workers(ctx)
	if err != nil {
		return v, err
	}
	if v.elected, err = s.roster.Lead(ctx); err != nil {
		return v, err
	}
	active, err := s.roster.Active(ctx)
	if err != nil {
		return v, err
	}
	v.active, v.workers = map[monitor.ID]monitor.Monitor{}, map[monitor.ID]int{}
	for _, m := range active {
		v.active[m.ID] = m
	}
	for _, w := range workers {
		v.workers[w.ID] = w.Generation
	}
	s.leases.look(time.Now())
	s.leases.keep(v.active)
	s.budget.keep(v.active)
	return v, nil
}

// settle does what a view calls for, and notes it. It blocks for the database,
// not for launches and ends.
func (s *Supervisor) settle(ctx context.Context, v view, r *report) {
	r.see(v)
	if s.retired.Load() {
		return
	}
	for _, m := range v.active {
		s.judge(v, m, r)
	}
	before := s.strays
	s.strays = map[Worker]time.Time{}
	for id, generation := range v.workers {
		if _, active := v.active[id]; active {
			continue
		}
		w := Worker{id, generation}
		s.strays[w] = time.Now()
		if since, known := before[w]; known {
			s.strays[w] = since
		}
		s.dismissStray(ctx, w, r)
	}
}

// judge looks at one monitor of a view.
func (s *Supervisor) judge(v view, m monitor.Monitor, r *report) {
	charged, busy := s.charge(m.ID)
	here := v.workers[m.ID]
	silence, absentBefore := s.leases.see(m, here == m.Generation)
	if busy {
		s.leases.hear(m.ID, 0)
		return
	}
	place := s.launcher.Place()
	switch judge(sight{
		generation: m.Generation,
		worker:     here,
		charged:    charged >= m.Generation,
		here:       m.Place == place.ID,
		shared:     place.Shared,
		elected:    v.elected,
		reported:   !m.ReportedAt.IsZero(),
		absent:     absentBefore,
		silent:     silence,
	}) {
	case found:
		r.note(adoptedWorkers)
		s.Start(m)
	case missing:
		s.lose(m.ID, r, loss{
			generation: m.Generation,
			reason:     event.ReasonMismatch,
			details:    place.Absence + " during " + r.occasion,
			absent:     true,
			attempts:   lookAttempts,
		})
	case silent:
		s.lose(m.ID, r, loss{
			generation: m.Generation,
			reason:     event.ReasonWorkerLost,
			details:    "the worker has not reported for " + s.cfg.Lease.String(),
			attempts:   1, // the next look asks again, with a whole lease
			unless:     m.UpdatedAt,
		})
	}
	if here != 0 && here < m.Generation && m.Place != place.ID {
		r.note(supersededWorkers)
		s.stopUpTo(m.ID, here) // its successor works elsewhere
	}
}

// own tells whether a monitor's newest worker was launched at this gateway's
// place, where nobody else launches.
func (s *Supervisor) own(m monitor.Monitor) bool {
	place := s.launcher.Place()
	return m.Place == place.ID && !place.Shared
}

// stopUpTo asks for the end of a monitor's worker, unless a newer one than the
// given generation has been asked for here meanwhile.
func (s *Supervisor) stopUpTo(id monitor.ID, generation int) { s.wish(wish{id: id, upTo: generation}) }

// lose has a loss looked into.
func (s *Supervisor) lose(id monitor.ID, r *report, l loss) {
	r.begin(id)
	l.told = func(done remedy, err error) {
		if err != nil {
			s.leases.hear(id, 0) // a database that takes nothing takes no reports either
		}
		r.end(id, done, err)
	}
	s.wish(wish{id: id, loss: &l})
}

// dismissStray ends a worker whose monitor is not active: it has ended, is a
// reservation, or does not exist. One that was registered in this moment is left
// alone; one that this gateway looks after may take its time to end by itself.
func (s *Supervisor) dismissStray(ctx context.Context, w Worker, r *report) {
	charged, busy := s.charge(w.ID)
	if busy || charged >= w.Generation && time.Since(s.strays[w]) < strayTerm {
		return
	}
	m, err := s.roster.Get(ctx, w.ID)
	switch {
	case overtaken(err):
		r.note(orphanedWorkers)
	case err != nil:
		s.log.Error("a worker that may be superfluous was left alone", "monitor_id", string(w.ID), "error", err.Error())
		r.note(skippedMonitors)
		return
	case m.Status.Active() && m.ReservedUntil.IsZero():
		return
	default:
		r.note(zombieWorkers)
	}
	s.log.Warn("a worker that nobody needs is ended", "monitor_id", string(w.ID), "generation", w.Generation)
	s.stopUpTo(w.ID, w.Generation)
}
