package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Reconciler compares the active monitors with the workers that run, and has
// WorkerManager do what follows.
type Reconciler struct {
	store        Store
	launcher     Launcher
	cfg          Config
	log          *slog.Logger
	workers      *WorkerManager
	promoter     *Promoter
	leases       *leases
	relaunches   *relaunchHistory
	shuttingDown *atomic.Bool

	// Only Reconcile and Watch use these, one after the other.
	notice  *timeoutNotice
	orphans map[Worker]time.Time // since when
}

// Reconcile brings monitors and workers together when a gateway starts (section
// 10.4). It adopts workers that outlived an earlier gateway, replaces missing ones by
// the policy, and ends orphaned ones. It resumes monitors that a stopped gateway has
// released. It blocks until that is done, at most Config.ReconcileTimeout;
// Watch goes on with the rest, and the monitors concerned are notified. It returns
// how many monitors are active; known is false when they could not be read in time.
// It is called once, before Watch, while Run is running.
func (r *Reconciler) Reconcile(ctx context.Context) (active int, known bool) {
	began, start := time.Now(), r.cfg.Now()
	limited, cancel := context.WithTimeout(ctx, r.cfg.ReconcileTimeout)
	defer cancel()
	report := newReport("startup reconciliation")
	err := r.compareUntilDone(limited, report)
	if err == nil && r.launcher.Runtime().Shared && wait(limited, r.cfg.ExitGracePeriod, nil) {
		err = r.compareUntilDone(limited, report) // only the second comparison can find a worker missing there
	}
	report.wait(limited)
	timedOut := limited.Err() != nil && ctx.Err() == nil
	if timedOut {
		r.notice = newTimeoutNotice(start, report.unsettled())
	}
	r.log.Info("Startup Reconciliation Report", report.attributes(time.Since(began), timedOut, err)...)
	return report.activeMonitors()
}

// Watch goes on comparing monitors and workers every Config.ReconcileInterval until
// ctx is done: leases expire, gateways die, workers are orphaned (decisions O3, O5).
func (r *Reconciler) Watch(ctx context.Context) {
	failures := 0
	for pause := r.cfg.ReconcileInterval; wait(ctx, pause, nil); {
		err := r.compareOnce(ctx)
		switch {
		case err == nil:
			pause, failures = r.cfg.ReconcileInterval, 0
		case ctx.Err() == nil:
			failures++
			pause = min(backoff(failures), r.cfg.ReconcileInterval)
			r.log.Warn("cannot compare monitors and workers, will try again", "error", err.Error(), "pause_sec", pause.Seconds())
		}
	}
}

// RenewLease records a report of a worker, whether or not it can be stored: a
// database that takes no reports must not make workers look lost. Generation 0 is
// the newest. It does not block.
func (r *Reconciler) RenewLease(id monitor.ID, generation int) { r.leases.renew(id, generation) }

// compareUntilDone compares until both sides could be read once.
func (r *Reconciler) compareUntilDone(ctx context.Context, report *reconcileReport) error {
	return retry(ctx, r.log, exchange, "compare monitors and workers", func(ctx context.Context) error {
		resumed := 0
		c, err := r.read(ctx, func() { resumed = r.resume(ctx) })
		switch {
		case err != nil:
			return err
		case c.listErr != nil:
			return c.listErr
		}
		report.begin(c, resumed)
		r.act(ctx, c, report)
		return nil
	})
}

func (r *Reconciler) compareOnce(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	c, err := r.read(limited, func() {})
	if err == nil {
		report := newReport("reconciliation")
		report.begin(c, 0)
		r.act(limited, c, report)
		err = c.listErr
	}
	if r.notice == nil {
		return err
	}
	limited, cancel = context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	return errors.Join(err, r.sendTimeoutNotices(limited))
}

// comparison is what one comparison has read.
type comparison struct {
	leader  bool
	active  map[monitor.ID]monitor.Monitor
	workers map[monitor.ID]Worker
	listErr error // why the workers cannot be listed; only expired leases count then
}

// read lists workers first and monitors second. So every listed worker that is still
// needed has its monitor in the later list of active monitors.
// lead is called in between, when it is known who leads.
func (r *Reconciler) read(ctx context.Context, lead func()) (c comparison, err error) {
	workers, blind := r.listWorkers(ctx)
	if c.leader, err = r.store.TryLead(ctx); err != nil {
		return c, err
	}
	lead()
	active, err := r.store.ListActive(ctx)
	if err != nil {
		return c, err
	}
	c.listErr = blind
	c.active, c.workers = map[monitor.ID]monitor.Monitor{}, map[monitor.ID]Worker{}
	for _, m := range active {
		c.active[m.ID] = m
	}
	for _, w := range workers {
		c.workers[w.ID] = w
	}
	r.leases.beginComparison(time.Now())
	r.leases.retain(c.active)
	r.relaunches.retain(c.active)
	return c, nil
}

// listWorkers leaves half of the time to the database.
func (r *Reconciler) listWorkers(ctx context.Context) ([]Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout/2)
	defer cancel()
	return r.launcher.Workers(ctx)
}

// resume leaves time to read the active monitors.
func (r *Reconciler) resume(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout/4)
	defer cancel()
	return r.promoter.resume(ctx)
}

// act does what a comparison calls for. It blocks for the database, not for
// launches and stops.
func (r *Reconciler) act(ctx context.Context, c comparison, report *reconcileReport) {
	if r.shuttingDown.Load() {
		return
	}
	for _, m := range c.active {
		r.judge(c, m, report)
	}
	if c.listErr != nil {
		return
	}
	before := r.orphans
	r.orphans = map[Worker]time.Time{}
	for id, listed := range c.workers {
		if _, active := c.active[id]; active {
			continue
		}
		w := Worker{ID: id, Generation: listed.Generation}
		r.orphans[w] = time.Now()
		if since, known := before[w]; known {
			r.orphans[w] = since
		}
		r.stopOrphan(ctx, w, report)
	}
}

// judge decides about one active monitor.
func (r *Reconciler) judge(c comparison, m monitor.Monitor, report *reconcileReport) {
	owned, busy := r.workers.owned(m.ID)
	runtime := r.launcher.Runtime()
	w := c.workers[m.ID]
	v := visibility{running: w.Generation == m.Generation, blind: c.listErr != nil}
	v.pending = v.running && w.Pending
	v.notLaunched = !v.running && runtime.Shared && m.RuntimeID == runtime.ID
	lease, absentBefore := r.leases.observe(m, v)
	if busy {
		r.leases.renew(m.ID, 0)
		return
	}
	switch evaluate(observation{
		generation:   m.Generation,
		running:      w.Generation,
		blind:        v.blind,
		owned:        owned >= m.Generation,
		launchedHere: m.RuntimeID == runtime.ID,
		shared:       runtime.Shared,
		leader:       c.leader,
		reported:     !m.ReportedAt.IsZero(),
		absentBefore: absentBefore,
		leaseExpired: lease > 0,
	}) {
	case adopt:
		report.count(adoptedWorkers)
		r.workers.Start(m)
	case missing:
		r.handle(m.ID, report, workerLoss{
			generation: m.Generation,
			reason:     event.ReasonMismatch,
			details:    runtime.NotFoundMessage + " during " + report.occasion,
			absent:     true,
			attempts:   compareAttempts,
		})
	case silent:
		r.handle(m.ID, report, workerLoss{
			generation:     m.Generation,
			reason:         event.ReasonWorkerLost,
			details:        silenceDetails(lease, w),
			attempts:       1, // the next comparison asks again, after a whole lease
			unchangedSince: m.UpdatedAt,
		})
	case nothingToDo:
	}
	if w.Generation != 0 && w.Generation < m.Generation && m.RuntimeID != runtime.ID {
		report.count(supersededWorkers)
		r.workers.stopUpTo(m.ID, w.Generation) // its successor works in another runtime
	}
}

// silenceDetails says how long a worker has not reported, and why if that is known.
func silenceDetails(lease time.Duration, w Worker) string {
	details := "the worker has not reported for "
	if w.Pending {
		details = "the worker has not started for "
	}
	details += lease.String()
	if w.PendingReason != "" {
		details += ": " + w.PendingReason
	}
	return details
}

// handle has a loss handled and counts what comes of it.
func (r *Reconciler) handle(id monitor.ID, report *reconcileReport, loss workerLoss) {
	report.beginLoss(id)
	loss.done = func(result outcome, err error) {
		if err != nil {
			r.leases.renew(id, 0) // a database that takes nothing takes no reports either
		}
		report.endLoss(id, result, err)
	}
	r.workers.enqueue(command{id: id, loss: &loss})
}

// stopOrphan ends a worker whose monitor is not active: it has ended, is a
// reservation, or does not exist. A monitor that was registered just now is left
// alone. A worker that this gateway looks after gets orphanGracePeriod to end by itself.
func (r *Reconciler) stopOrphan(ctx context.Context, w Worker, report *reconcileReport) {
	owned, busy := r.workers.owned(w.ID)
	if busy || owned >= w.Generation && time.Since(r.orphans[w]) < orphanGracePeriod {
		return
	}
	log := r.log.With("monitor_id", string(w.ID), "generation", w.Generation)
	m, err := r.store.Get(ctx, w.ID)
	switch {
	case isOutdated(err):
		report.count(orphanedWorkers)
	case errors.Is(ctx.Err(), context.Canceled): // the gateway is stopping
		return
	case err != nil:
		log.Error("a worker that may be orphaned was left alone, the next comparison checks it again", "error", err.Error())
		report.count(skippedMonitors)
		return
	case m.Status.Active() && m.ReservedUntil.IsZero():
		return
	default:
		report.count(zombieWorkers)
	}
	log.Warn("an orphaned worker is ended: its monitor has ended or is not in this database")
	r.workers.stopUpTo(w.ID, w.Generation)
}
