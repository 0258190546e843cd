package supervisor

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// reconcileSummary counts the results of one comparison of monitors and workers.
type reconcileSummary struct {
	occasion string // "startup reconciliation" or "reconciliation"

	mu         sync.Mutex
	compared   bool // the database could be read
	active     int
	leader     bool
	counts     map[counter]int
	openLosses map[monitor.ID]bool // monitors whose loss is being handled
	settled    chan struct{}       // closed while openLosses is empty
}

// counter is the name of a count in the log line.
type counter string

const (
	adoptedWorkers    counter = "adopted"
	resumedMonitors   counter = "resumed"
	launchedWorkers   counter = "launched"
	relaunchedWorkers counter = "relaunched"
	failedMonitors    counter = "marked_as_error"
	zombieWorkers     counter = "zombies_deleted"    // their monitor has ended or is reserved
	orphanedWorkers   counter = "orphans_deleted"    // their monitor does not exist
	supersededWorkers counter = "superseded_deleted" // a newer generation runs in another runtime
	changedMeanwhile  counter = "changed_meanwhile"  // losses with outcome leftUnchanged
	skippedMonitors   counter = "skipped"            // the database failed; the next comparison tries again
)

// counters lists the counters in the order of the log line.
var counters = []counter{adoptedWorkers, resumedMonitors, launchedWorkers, relaunchedWorkers, failedMonitors,
	zombieWorkers, orphanedWorkers, supersededWorkers, changedMeanwhile, skippedMonitors}

func newSummary(occasion string) *reconcileSummary {
	r := &reconcileSummary{occasion: occasion, counts: map[counter]int{}, openLosses: map[monitor.ID]bool{}, settled: make(chan struct{})}
	close(r.settled)
	return r
}

func (r *reconcileSummary) count(c counter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[c]++
}

// begin records that a comparison has read the database.
func (r *reconcileSummary) begin(c comparison, resumed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compared, r.active, r.leader = true, len(c.active), c.leader
	r.counts[resumedMonitors] = resumed
}

// beginLoss records that a loss is being handled.
func (r *reconcileSummary) beginLoss(id monitor.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.openLosses) == 0 {
		r.settled = make(chan struct{})
	}
	r.openLosses[id] = true
}

// endLoss counts the outcome of a loss.
func (r *reconcileSummary) endLoss(id monitor.ID, result outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.openLosses, id)
	if len(r.openLosses) == 0 {
		close(r.settled)
	}
	c := map[outcome]counter{replacedUnreported: launchedWorkers, relaunched: relaunchedWorkers, failed: failedMonitors, leftUnchanged: changedMeanwhile}[result]
	if err != nil {
		c = skippedMonitors
	}
	r.counts[c]++
}

// activeMonitors returns how many monitors the last comparison read, if there was one.
func (r *reconcileSummary) activeMonitors() (active int, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active, r.compared
}

// wait blocks until no loss is being handled, or ctx is done.
func (r *reconcileSummary) wait(ctx context.Context) {
	r.mu.Lock()
	settled := r.settled
	r.mu.Unlock()
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

// unsettled returns a predicate: a monitor satisfies it if its loss is still being
// handled, or if no comparison has read the database.
func (r *reconcileSummary) unsettled() func(monitor.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.compared {
		return func(monitor.ID) bool { return true }
	}
	undecided := maps.Clone(r.openLosses)
	return func(id monitor.ID) bool { return undecided[id] }
}

// attributes returns the attributes of the log line.
func (r *reconcileSummary) attributes(took time.Duration, timedOut bool, err error) []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	attrs := []any{"duration_sec", took.Seconds(), "timed_out", timedOut, "elected", r.leader, "active", r.active, "unsettled", len(r.openLosses)}
	for _, c := range counters {
		attrs = append(attrs, string(c), r.counts[c])
	}
	if len(r.openLosses) > 0 {
		attrs = append(attrs, "unsettled_monitors", slices.Sorted(maps.Keys(r.openLosses)))
	}
	if err != nil {
		attrs = append(attrs, "error", err.Error())
	}
	return attrs
}
