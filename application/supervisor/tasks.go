package supervisor

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// tasks holds what this gateway does for each monitor's worker, and begins it when it is due.
// At most one task is under way for each monitor.
type tasks struct {
	cfg          Config
	launcher     Launcher
	runtime      Runtime
	leases       *leases
	shuttingDown *atomic.Bool
	actions      *actions

	workers    map[monitor.ID]*worker
	relaunches relaunchHistory
	startup    *startup
	finished   chan result    // from the goroutines of tasks to the loop
	running    sync.WaitGroup // goroutines under way
}

// order makes a task the next one of its monitor's worker. It takes the place of one that waits,
// and cancels the one under way. A stop is not cancelled for another stop.
func (t *tasks) order(next *task) {
	w := t.workers[next.id]
	if w == nil {
		w = &worker{}
		t.workers[next.id] = w
	}
	w.generation = max(w.generation, next.generation)
	if next.due.IsZero() {
		next.due = time.Now()
	}
	t.startup.settle(next.id, leftUnchanged) // what it takes the place of
	if next.kind == stop && w.current != nil && w.current.kind == stop {
		w.next = nil
		return
	}
	w.next = next
	if w.current != nil {
		w.cancel()
	}
}

// exited takes the end of a worker. It is expected after a stop, or of a worker that a
// newer generation has replaced.
func (t *tasks) exited(e Exit) {
	if w := t.workers[e.ID]; w == nil || w.generation != e.Generation || w.isStopping() {
		return
	}
	t.lose(e.ID, e.Generation, exitGracePeriod, workerLoss{reason: event.ReasonWorkerLost, details: "the worker's end: " + e.Detail})
}

// lose orders the replacement of a lost worker after delay, or later if it was lost often.
func (t *tasks) lose(id monitor.ID, generation int, delay time.Duration, loss workerLoss) {
	delay = max(delay, relaunchBackoff(t.relaunches.count(id)))
	t.order(&task{id: id, kind: replace, generation: generation, due: time.Now().Add(delay), loss: loss})
}

// promotions counts the claimed reservations that are not promoted yet.
func (t *tasks) promotions() (n int) {
	for _, w := range t.workers {
		if next := w.newest(); next != nil && next.kind == promote {
			n++
		}
	}
	return n
}

// beginDue begins the tasks that are due, and returns the time until another one is. Of
// launches and promotions it begins the oldest ones, as many as may be under way.
func (t *tasks) beginDue(ctx context.Context) (pause time.Duration) {
	now := time.Now()
	pause = compareInterval
	free := map[taskKind]int{launch: t.cfg.MaxConcurrentLaunches, promote: maxConcurrentPromotions} // other kinds have no limit
	var due []*worker
	for _, w := range t.workers {
		switch {
		case w.current != nil:
			free[w.current.kind]--
		case w.next == nil:
		case w.next.due.After(now):
			pause = min(pause, w.next.due.Sub(now))
		default:
			due = append(due, w)
		}
	}
	slices.SortFunc(due, func(a, b *worker) int { return a.next.due.Compare(b.next.due) })
	for _, w := range due {
		kind := w.next.kind
		if (kind == launch || kind == promote) && free[kind] <= 0 {
			continue
		}
		free[kind]--
		t.begin(ctx, w)
	}
	return pause
}

// begin begins the next task of a worker.
func (t *tasks) begin(ctx context.Context, w *worker) {
	current := w.next
	w.next, w.current = nil, current
	if current.began.IsZero() {
		current.began = time.Now()
	}
	current.loss.relaunches = t.relaunches.count(current.id) // the history is the loop's alone
	acting, cancel := context.WithCancel(ctx)
	w.cancel = cancel
	t.running.Go(func() {
		defer cancel()
		t.finished <- t.actions.try(acting, current)
	})
}

// finish takes the result of a task. A newer task begins in its place. Without one, a
// failed task is due again after a pause, or what follows from it is due now. A task that the end
// of ctx has cut short remains.
func (t *tasks) finish(ctx context.Context, r result) {
	done := r.task
	w := t.workers[done.id]
	if r.err != nil && ctx.Err() != nil {
		return
	}
	w.current = nil
	if r.err == nil {
		t.startup.settle(done.id, r.outcome)
	}
	if r.outcome == relaunched {
		t.relaunches.add(done.id)
	}
	switch {
	case r.monitor != nil && (w.next == nil || w.next.kind == replace): // the exit of the worker that this one replaces may have come
		t.startup.addActive(done.id)
		t.order(startTask(*r.monitor))
	case w.next != nil: // it begins in place of what would follow
	case r.err != nil:
		t.fail(w, done, r.err)
	case r.outcome == zombie || r.outcome == orphan:
		t.order(&task{id: done.id, kind: stop})
	case done.kind == launch: // the worker runs, and its exit will be reported
	case done.kind == replace && t.shuttingDown.Load() && done.loss.seenUpdatedAt.IsZero():
		// The worker is kept so that Handover releases its monitor. A silent worker may belong to
		// another gateway, which releases the monitor itself.
	default:
		delete(t.workers, done.id)
	}
}

// fail plans the next try of a task that has failed, or gives it up.
func (t *tasks) fail(w *worker, done *task, err error) {
	done.failures++
	log := t.cfg.Log.With("monitor_id", string(done.id), "generation", w.generation, "error", err.Error())
	if !done.exhausted(t.cfg.MissingWorker) {
		pause := retryBackoff.Delay(done.failures)
		log.Warn("cannot "+done.kind.String()+", will try again", "pause_sec", pause.Seconds())
		done.due, w.next = time.Now().Add(pause), done
		return
	}
	switch done.kind {
	case launch:
		t.order(&task{id: done.id, kind: giveUp, generation: done.generation, loss: workerLoss{
			reason: event.ReasonLaunchFailed, details: "no worker could be started: " + err.Error(),
		}})
		return
	case replace:
		log.Error("a lost worker could not be replaced, the next comparison tries again")
		t.leases.renew(done.id, done.generation) // while the database fails, it cannot store reports either
	case stop:
		log.Error("worker could not be stopped, the next comparison tries again if it still runs")
	case checkOrphan:
		log.Error("a worker that may be orphaned was left alone, the next comparison checks it again")
	case promote, giveUp: // never exhausted
	}
	t.startup.settle(done.id, skipped)
	delete(t.workers, done.id)
}

// remaining returns the monitors that Handover is to release when the loop has ended, each with its
// newest generation. In a private runtime these are all monitors with a worker, or with a task to
// launch one. In a shared runtime, running workers continue without this gateway. There these are
// the monitors whose launch has not succeeded, and none if that cannot be found out.
func (t *tasks) remaining() map[monitor.ID]int {
	ctx, cancel := context.WithTimeout(context.Background(), exchangeTimeout)
	defer cancel()
	listed := map[monitor.ID]int{}
	workers, err := t.launcher.Workers(ctx)
	for _, w := range workers {
		listed[w.ID] = w.Generation
	}
	remaining := map[monitor.ID]int{}
	if !t.runtime.Shared {
		maps.Copy(remaining, listed)
	}
	for id, w := range t.workers {
		switch {
		case w.isStopping():
			delete(remaining, id)
		case !t.runtime.Shared, err == nil && w.isStarting() && w.generation > listed[id]:
			remaining[id] = max(listed[id], w.generation)
		}
	}
	return remaining
}
