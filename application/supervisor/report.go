package supervisor

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// reconcileReport counts what came of one comparison of monitors and workers.
type reconcileReport struct {
	occasion string // "startup reconciliation" or "reconciliation"

	mu       sync.Mutex
	compared bool // the database could be read
	active   int
	leader   bool
	counts   map[counter]int
	pending  map[monitor.ID]bool // losses that are being handled
	settled  chan struct{}       // closed while pending is empty
}

// counter is a count in the report, by its name in the log.
type counter string

const (
	adoptedWorkers    counter = "adopted"
	resumedMonitors   counter = "resumed"
	launchedWorkers   counter = "launched"
	relaunchedWorkers counter = "relaunched"
	failedMonitors    counter = "marked_as_error"
	zombieWorkers     counter = "zombies_deleted"
	orphanedWorkers   counter = "orphans_deleted"
	supersededWorkers counter = "superseded_deleted"
	changedMeanwhile  counter = "changed_meanwhile"
	skippedMonitors   counter = "skipped"
)

// counters is the order in which the report lists them.
var counters = []counter{adoptedWorkers, resumedMonitors, launchedWorkers, relaunchedWorkers, failedMonitors,
	zombieWorkers, orphanedWorkers, supersededWorkers, changedMeanwhile, skippedMonitors}

func newReport(occasion string) *reconcileReport {
	r := &reconcileReport{occasion: occasion, counts: map[counter]int{}, pending: map[monitor.ID]bool{}, settled: make(chan struct{})}
	close(r.settled)
	return r
}

func (r *reconcileReport) count(c counter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[c]++
}

// begin records that a comparison has read the database.
func (r *reconcileReport) begin(c comparison, resumed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compared, r.active, r.leader = true, len(c.active), c.leader
	r.counts[resumedMonitors] = resumed
}

// beginLoss records that a loss is being handled.
func (r *reconcileReport) beginLoss(id monitor.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 {
		r.settled = make(chan struct{})
	}
	r.pending[id] = true
}

// endLoss counts what came of a loss.
func (r *reconcileReport) endLoss(id monitor.ID, result outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, id)
	if len(r.pending) == 0 {
		close(r.settled)
	}
	c := map[outcome]counter{launched: launchedWorkers, relaunched: relaunchedWorkers, failed: failedMonitors, noAction: changedMeanwhile}[result]
	if err != nil {
		c = skippedMonitors
	}
	r.counts[c]++
}

// activeMonitors returns how many monitors the last comparison read, if there was one.
func (r *reconcileReport) activeMonitors() (active int, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active, r.compared
}

// wait blocks until no loss is being handled, or ctx is done.
func (r *reconcileReport) wait(ctx context.Context) {
	r.mu.Lock()
	settled := r.settled
	r.mu.Unlock()
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

// unsettled returns which monitors are not decided about by now.
func (r *reconcileReport) unsettled() func(monitor.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.compared {
		return func(monitor.ID) bool { return true }
	}
	pending := maps.Clone(r.pending)
	return func(id monitor.ID) bool { return pending[id] }
}

// attributes is the report as attributes of its log line.
func (r *reconcileReport) attributes(took time.Duration, timedOut bool, err error) []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	attrs := []any{"duration_sec", took.Seconds(), "timed_out", timedOut, "elected", r.leader, "active", r.active, "unsettled", len(r.pending)}
	for _, c := range counters {
		attrs = append(attrs, string(c), r.counts[c])
	}
	if len(r.pending) > 0 {
		attrs = append(attrs, "unsettled_monitors", slices.Sorted(maps.Keys(r.pending)))
	}
	if err != nil {
		attrs = append(attrs, "error", err.Error())
	}
	return attrs
}
