package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Reconciler compares the active monitors with the workers that run, and sends
// WorkerManager the commands that follow.
type Reconciler struct {
	store        Store
	launcher     Launcher
	cfg          Config
	log          *slog.Logger
	workers      *WorkerManager
	promoter     *Promoter
	membership   *Membership
	leases       *leases
	relaunches   *relaunchHistory
	shuttingDown *atomic.Bool
	isLeader     atomic.Bool // whether this gateway was the leader at the last election

	// Only Reconcile and then ReconcilePeriodically use these.
	notice    *timeoutNotice
	orphans   map[Worker]time.Time // when a comparison first found each one
	takeovers int                  // that this comparison has begun
}

// Reconcile brings monitors and workers together when a gateway starts (section
// 10.4). It adopts workers that outlived an earlier gateway, replaces missing ones by
// the policy, and ends orphaned ones. It resumes monitors that a stopped gateway has
// released. It blocks until that is done, at most Config.ReconcileTimeout. After a
// timeout ReconcilePeriodically does the rest, and each undecided monitor gets a
// monitor.error event. active is the number of active monitors; known is false when the
// database could not be read in time. It is called once, while Run is running.
func (r *Reconciler) Reconcile(ctx context.Context) (active int, known bool) {
	began, start := time.Now(), r.cfg.Now()
	limited, cancel := context.WithTimeout(ctx, r.cfg.ReconcileTimeout)
	defer cancel()
	summary := newSummary("startup reconciliation")
	err := r.compareUntilDone(limited, summary)
	if err == nil && r.launcher.Runtime().Shared && wait.For(limited, r.cfg.ExitGracePeriod) {
		// In a shared runtime only a second comparison can find a worker missing (evaluate).
		err = r.compareUntilDone(limited, summary)
	}
	summary.wait(limited)
	timedOut := limited.Err() != nil && ctx.Err() == nil
	if timedOut {
		r.notice = newTimeoutNotice(start, summary.unsettled())
	}
	r.log.Info("Startup Reconciliation Report", summary.attributes(time.Since(began), timedOut, err)...)
	return summary.activeMonitors()
}

// ReconcilePeriodically compares monitors and workers every Config.ReconcileInterval
// until ctx is done, and as soon as another gateway has died. It finds expired leases,
// workers of dead gateways, and orphaned workers (decisions O3, O5). It is called once,
// after Reconcile.
// While this gateway is the leader, it also runs Config.LeaderTasks.
func (r *Reconciler) ReconcilePeriodically(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for _, t := range r.cfg.LeaderTasks {
		tasks.Go(func() { r.runLeaderTask(ctx, t) })
	}
	failures := 0
	for pause := r.cfg.ReconcileInterval; wait.ForOrUntil(ctx, pause, r.membership.due); {
		err := r.compareOnce(ctx)
		switch {
		case err == nil:
			pause, failures = r.cfg.ReconcileInterval, 0
		case ctx.Err() == nil:
			failures++
			pause = min(retryBackoff.Delay(failures), r.cfg.ReconcileInterval)
			r.log.Warn("cannot compare monitors and workers, will try again", "error", err.Error(), "pause_sec", pause.Seconds())
		}
	}
}

// RenewLease starts a worker's lease again. It is called for every report, stored or
// not: workers must not look lost while the database cannot store reports. It does not
// block.
func (r *Reconciler) RenewLease(id monitor.ID, generation int) { r.leases.renew(id, generation) }

// compareUntilDone retries a comparison until it has read both workers and monitors.
func (r *Reconciler) compareUntilDone(ctx context.Context, summary *reconcileSummary) error {
	return retry(ctx, r.log, exchangePolicy, "compare monitors and workers", func(ctx context.Context) error {
		resumed := 0
		c, err := r.read(ctx, func() { resumed = r.promoteDueReservations(ctx) })
		switch {
		case err != nil:
			return err
		case c.listErr != nil:
			return c.listErr
		}
		summary.begin(c, resumed)
		r.applyComparison(ctx, c, summary)
		return nil
	})
}

func (r *Reconciler) compareOnce(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	c, err := r.read(limited, func() {})
	if err == nil {
		summary := newSummary("reconciliation")
		summary.begin(c, 0)
		r.applyComparison(limited, c, summary)
		err = c.listErr
	}
	if r.notice == nil {
		return err
	}
	limited, cancel = context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	return errors.Join(err, r.sendTimeoutNotices(limited))
}

// comparison holds the monitors and workers that one comparison has read.
type comparison struct {
	leader  bool
	active  map[monitor.ID]monitor.Monitor
	workers map[monitor.ID]Worker
	listErr error // why the launcher cannot list workers; if set, only expired leases prove a loss
}

// read lists workers first and monitors second. So every listed worker that is still
// needed has its monitor in the later list of active monitors.
// It calls afterElection between the two.
func (r *Reconciler) read(ctx context.Context, afterElection func()) (c comparison, err error) {
	workers, listErr := r.listWorkers(ctx)
	c.leader, err = r.store.TryLead(ctx)
	r.isLeader.Store(c.leader)
	if err != nil {
		return c, err
	}
	afterElection()
	active, err := r.store.ListActive(ctx)
	if err != nil {
		return c, err
	}
	c.listErr = listErr
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

// listWorkers lists the workers within half of exchangeTimeout. The other half remains
// for the database.
func (r *Reconciler) listWorkers(ctx context.Context) ([]Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout/2)
	defer cancel()
	return r.launcher.Workers(ctx)
}

// promoteDueReservations limits promoteAllDue to a quarter of exchangeTimeout. The rest
// remains for reading the active monitors.
func (r *Reconciler) promoteDueReservations(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout/4)
	defer cancel()
	return r.promoter.promoteAllDue(ctx)
}

// applyComparison checks every monitor and ends orphaned workers. It blocks for the
// database, not for launches and stops.
func (r *Reconciler) applyComparison(ctx context.Context, c comparison, summary *reconcileSummary) {
	if r.shuttingDown.Load() {
		return
	}
	r.takeovers = 0
	for _, m := range c.active {
		r.checkMonitor(c, m, summary)
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
		r.stopOrphan(ctx, w, summary)
	}
}

// checkMonitor adopts one active monitor's worker, or enqueues its loss.
func (r *Reconciler) checkMonitor(c comparison, m monitor.Monitor, summary *reconcileSummary) {
	owned, busy := r.workers.ownedGeneration(m.ID)
	runtime := r.launcher.Runtime()
	w := c.workers[m.ID]
	listing := workerListing{listed: w.Generation == m.Generation, unavailable: c.listErr != nil}
	listing.pending = listing.listed && w.Pending
	listing.notLaunched = !listing.listed && runtime.Shared && m.RuntimeID == runtime.ID
	lease, unlistedBefore := r.leases.record(m, listing)
	if busy {
		r.leases.renew(m.ID, 0)
		return
	}
	switch evaluate(facts{
		newestGeneration:  m.Generation,
		runningGeneration: w.Generation,
		refused:           w.Refused,
		listUnavailable:   listing.unavailable,
		ownedByGateway:    owned >= m.Generation,
		inOwnRuntime:      m.RuntimeID == runtime.ID,
		sharedRuntime:     runtime.Shared,
		leader:            c.leader,
		reported:          !m.ReportedAt.IsZero(),
		unlistedBefore:    unlistedBefore,
		leaseExpired:      lease > 0,
		takesOver:         r.membership.takesOver(m.ID, m.RuntimeID),
	}) {
	case adopt:
		summary.count(adoptedWorkers)
		r.workers.Start(m)
	case missing:
		r.enqueueLoss(m.ID, summary, workerLoss{
			generation: m.Generation,
			reason:     event.ReasonMismatch,
			details:    runtime.NotFoundMessage + " during " + summary.occasion,
			missing:    true,
			attempts:   maxLossAttempts,
		})
	case silent:
		r.enqueueLoss(m.ID, summary, workerLoss{
			generation:    m.Generation,
			reason:        event.ReasonWorkerLost,
			details:       silenceDetails(lease, w),
			attempts:      1, // a failure renews the lease; the loss is found again when the lease expires
			seenUpdatedAt: m.UpdatedAt,
		})
	case refused:
		r.enqueueLoss(m.ID, summary, workerLoss{
			generation: m.Generation,
			reason:     event.ReasonWorkerLost,
			details:    "its token comes from another INTERNAL_API_KEY",
			refused:    true,
			attempts:   maxLossAttempts,
		})
	case abandoned:
		r.takeOver(m, summary)
	case nothingToDo:
	}
	if w.Generation != 0 && w.Generation < m.Generation && m.RuntimeID != runtime.ID {
		summary.count(supersededWorkers)
		r.workers.stopUpTo(m.ID, w.Generation) // a newer generation works in another runtime
	}
}

// takeOver enqueues the loss of a worker that has ended with its gateway. Several takeovers of
// one comparison begin one after the other.
func (r *Reconciler) takeOver(m monitor.Monitor, summary *reconcileSummary) {
	r.enqueueLoss(m.ID, summary, workerLoss{
		generation:    m.Generation,
		reason:        event.ReasonWorkerLost,
		details:       "the gateway that ran the worker sends no heartbeat any more",
		delay:         time.Duration(r.takeovers) * takeoverPause % takeoverSpread,
		attempts:      1, // the next comparison finds the loss again, unless the gateway has come back
		seenUpdatedAt: m.UpdatedAt,
	})
	r.takeovers++
}

// silenceDetails says how long a worker has not reported, with the launcher's reason if
// there is one.
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

// enqueueLoss sends a loss to WorkerManager and counts its outcome in the summary.
func (r *Reconciler) enqueueLoss(id monitor.ID, summary *reconcileSummary, loss workerLoss) {
	summary.beginLoss(id)
	loss.done = func(result outcome, err error) {
		if err != nil {
			r.leases.renew(id, 0) // while the database fails, it cannot store reports either
		}
		summary.endLoss(id, result, err)
	}
	r.workers.enqueue(command{id: id, loss: &loss})
}

// stopOrphan ends a worker whose monitor has ended, is a reservation, or does not
// exist. It leaves the worker of a monitor that was registered during the comparison. A
// worker that this gateway owns gets orphanGracePeriod to end by itself.
func (r *Reconciler) stopOrphan(ctx context.Context, w Worker, summary *reconcileSummary) {
	owned, busy := r.workers.ownedGeneration(w.ID)
	if busy || owned >= w.Generation && time.Since(r.orphans[w]) < orphanGracePeriod {
		return
	}
	log := r.log.With("monitor_id", string(w.ID), "generation", w.Generation)
	m, err := r.store.Get(ctx, w.ID)
	switch {
	case isNotCurrent(err):
		summary.count(orphanedWorkers)
	case errors.Is(ctx.Err(), context.Canceled): // the gateway is stopping
		return
	case err != nil:
		log.Error("a worker that may be orphaned was left alone, the next comparison checks it again", "error", err.Error())
		summary.count(skippedMonitors)
		return
	case m.Status.Active() && m.ReservedUntil.IsZero():
		return
	default:
		summary.count(zombieWorkers)
	}
	log.Warn("an orphaned worker is ended: its monitor has ended, is reserved or is not in this database")
	r.workers.stopUpTo(w.ID, w.Generation)
}
