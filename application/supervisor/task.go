package supervisor

import (
	"context"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// taskKind is what a task does with one monitor's worker.
type taskKind int

const (
	promote     taskKind = iota // turn a claimed reservation into a monitor with a worker, then launch
	launch                      // start a worker of the newest generation
	stop                        // end the worker
	replace                     // find out whether a lost worker is still needed, then launch another or end the monitor
	giveUp                      // end a monitor whose worker cannot be launched
	checkOrphan                 // find out whether a worker has no monitor, then stop it
)

// String returns what the task does, for the log.
func (k taskKind) String() string {
	return [...]string{"promote the reservation", "launch the worker", "stop the worker", "replace a lost worker",
		"end a monitor whose worker cannot be launched", "find out whether a worker is orphaned"}[k]
}

// task is what is to be done with one monitor's worker, and when. A task that fails is due
// again after a pause.
type task struct {
	id         monitor.ID
	kind       taskKind
	generation int       // of the worker; 0: any
	due        time.Time // zero: now
	began      time.Time // its first try; zero: it was not tried yet
	failures   int

	handedOver bool            // for promote: a gateway that stopped has released the monitor
	monitor    monitor.Monitor // for launch
	loss       workerLoss      // for replace and giveUp
}

// startTask returns the task that gives a monitor its worker.
func startTask(m monitor.Monitor) *task {
	t := &task{id: m.ID, kind: launch, generation: m.Generation, monitor: m}
	if !m.ReservedUntil.IsZero() {
		t.kind = promote
	}
	return t
}

// exhausted reports whether a task that has failed is not tried again.
func (t *task) exhausted(policy MissingWorkerPolicy) bool {
	switch t.kind {
	case launch:
		limit := launchTimeout
		if policy == Relaunch {
			limit = relaunchPeriod
		}
		return time.Since(t.began) >= limit
	case stop:
		return t.failures >= stopAttempts
	case replace:
		return t.loss.attempts > 0 && t.failures >= t.loss.attempts
	case checkOrphan:
		return true // the next comparison tries again
	case promote, giveUp:
	}
	return false
}

// outcome is what a try of a task, or a comparison, has led to.
type outcome int

const (
	leftUnchanged      outcome = iota // nothing was decided, or the monitor has changed meanwhile
	adopted                           // the worker outlived its gateway, and this one watches it
	promoted                          // the reservation has become a monitor with a worker
	resumed                           // likewise; a gateway that stopped has handed it over
	replacedUnreported                // the lost worker never reported, so the new one counts as the first
	relaunched                        // the monitor of a lost worker gets another one
	failed                            // the monitor has ended with an error
	zombie                            // the worker's monitor has ended or is a reservation
	orphan                            // the worker's monitor does not exist
	superseded                        // the worker is ended, because a newer generation runs in another runtime
	skipped                           // the database failed; the next comparison tries again
)

// worker is what this gateway does for one monitor. It exists from the first task until
// the monitor needs no worker here. Only the loop uses it.
type worker struct {
	generation    int                // the newest that this gateway claims, launches, watches for its exit or replaces; 0: none
	next          *task              // begins when it is due and the current task has ended
	current       *task              // under way
	cancel        context.CancelFunc // ends the current task early
	unneededSince time.Time          // when a comparison first found it without an active monitor; zero: it has one
}

// newest returns the newest task, nil if there is none.
func (w *worker) newest() *task {
	if w.next != nil {
		return w.next
	}
	return w.current
}

// isStopping reports whether the newest task ends the worker, so that its exit is expected.
func (w *worker) isStopping() bool { t := w.newest(); return t != nil && t.kind == stop }

// isStarting reports whether a launch is to be done or under way.
func (w *worker) isStarting() bool {
	t := w.newest()
	return t != nil && (t.kind == launch || t.kind == promote)
}

// inbox holds the tasks that other goroutines ask of the loop. Its methods may be called
// concurrently.
type inbox struct {
	wake chan struct{} // receives when there are more

	mu    sync.Mutex
	tasks []*task // in the order in which they came
}

func (i *inbox) add(t *task) {
	i.mu.Lock()
	i.tasks = append(i.tasks, t)
	i.mu.Unlock()
	notify(i.wake)
}

func (i *inbox) take() []*task {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := i.tasks
	i.tasks = nil
	return all
}

// notify wakes the receiver of a channel that has room for one value.
func notify(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
