package supervisor

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
	workers map[monitor.ID]Worker
	blind   error // why the workers cannot be seen: then only who is silent can be told
}

// take looks. The workers come first: whoever was launched before is, if still
// wanted, among the active monitors read after that. Errors: there is no view.
func (s *Supervisor) take(ctx context.Context) (v view, err error) {
	workers, blind := s.workers(ctx)
	if v.elected, err = s.roster.TryLead(ctx); err != nil {
		return v, err
	}
	active, err := s.roster.ListActive(ctx)
	if err != nil {
		return v, err
	}
	v.blind = blind
	v.active, v.workers = map[monitor.ID]monitor.Monitor{}, map[monitor.ID]Worker{}
	for _, m := range active {
		v.active[m.ID] = m
	}
	for _, w := range workers {
		v.workers[w.ID] = w
	}
	s.leases.look(time.Now())
	s.leases.keep(v.active)
	s.budget.keep(v.active)
	return v, nil
}

// workers leaves time for the database.
func (s *Supervisor) workers(ctx context.Context) ([]Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeLimit/2)
	defer cancel()
	return s.launcher.Workers(ctx)
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
	if v.blind != nil {
		return
	}
	before := s.strays
	s.strays = map[Worker]time.Time{}
	for id, seen := range v.workers {
		if _, active := v.active[id]; active {
			continue
		}
		w := Worker{ID: id, Generation: seen.Generation}
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
	place := s.launcher.Runtime()
	w := v.workers[m.ID]
	here := w.Generation
	g := glimpse{inView: here == m.Generation, blind: v.blind != nil}
	g.starting = g.inView && w.Pending
	g.unlaunched = !g.inView && place.Shared && m.RuntimeID == place.ID
	term, absentBefore := s.leases.see(m, g)
	if busy {
		s.leases.hear(m.ID, 0)
		return
	}
	switch judge(sight{
		generation: m.Generation,
		worker:     here,
		blind:      g.blind,
		charged:    charged >= m.Generation,
		here:       m.RuntimeID == place.ID,
		shared:     place.Shared,
		elected:    v.elected,
		reported:   !m.ReportedAt.IsZero(),
		absent:     absentBefore,
		silent:     term > 0,
	}) {
	case found:
		r.note(adoptedWorkers)
		s.Start(m)
	case missing:
		s.lose(m.ID, r, loss{
			generation: m.Generation,
			reason:     event.ReasonMismatch,
			details:    place.NotFoundMessage + " during " + r.occasion,
			absent:     true,
			attempts:   lookAttempts,
		})
	case silent:
		s.lose(m.ID, r, loss{
			generation: m.Generation,
			reason:     event.ReasonWorkerLost,
			details:    silence(term, w),
			attempts:   1, // the next look asks again, with a whole lease
			unless:     m.UpdatedAt,
		})
	}
	if here != 0 && here < m.Generation && m.RuntimeID != place.ID {
		r.note(supersededWorkers)
		s.stopUpTo(m.ID, here) // its successor works elsewhere
	}
}

// silence says that nothing was heard of a worker, and why, if that is known.
func silence(term time.Duration, w Worker) string {
	what := "the worker has not reported for "
	if w.Pending {
		what = "the worker has not started for "
	}
	what += term.String()
	if w.PendingReason != "" {
		what += ": " + w.PendingReason
	}
	return what
}

// own tells whether a monitor's newest worker was launched at this gateway's
// place, where nobody else launches.
func (s *Supervisor) own(m monitor.Monitor) bool {
	place := s.launcher.Runtime()
	return m.RuntimeID == place.ID && !place.Shared
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
