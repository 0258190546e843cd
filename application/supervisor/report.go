package supervisor

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// report is what came of one comparison of monitors and workers.
type report struct {
	occasion string

	mu      sync.Mutex
	seen    bool // there was a view
	active  int
	elected bool
	counts  map[string]int
	pending map[monitor.ID]bool // being looked into
	settled chan struct{}       // closed while nothing is pending
}

func newReport(occasion string) *report {
	r := &report{occasion: occasion, counts: map[string]int{}, pending: map[monitor.ID]bool{}, settled: make(chan struct{})}
	close(r.settled)
	return r
}

// What is counted, by its name in the log.
const (
	adoptedWorkers    = "adopted"
	firstWorkers      = "launched"
	relaunchedWorkers = "relaunched"
	failedMonitors    = "marked_as_error"
	zombieWorkers     = "zombies_deleted"
	orphanedWorkers   = "orphans_deleted"
	supersededWorkers = "superseded_deleted"
	changedMeanwhile  = "changed_meanwhile"
	skippedMonitors   = "skipped"
)

func (r *report) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

func (r *report) see(v view) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen, r.active, r.elected = true, len(v.active), v.elected
}

// begin says that a loss is being looked into.
func (r *report) begin(id monitor.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 {
		r.settled = make(chan struct{})
	}
	r.pending[id] = true
}

// end says what came of it.
func (r *report) end(id monitor.ID, done remedy, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, id)
	if len(r.pending) == 0 {
		close(r.settled)
	}
	what := map[remedy]string{launched: firstWorkers, replaced: relaunchedWorkers, givenUp: failedMonitors, nothing: changedMeanwhile}[done]
	if err != nil {
		what = skippedMonitors
	}
	r.counts[what]++
}

// wait blocks until nothing is pending, or ctx is done.
func (r *report) wait(ctx context.Context) {
	r.mu.Lock()
	settled := r.settled
	r.mu.Unlock()
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

// unsettled tells of which monitors it is not known by now what is to be done.
func (r *report) unsettled() func(monitor.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.seen {
		return func(monitor.ID) bool { return true }
	}
	pending := maps.Clone(r.pending)
	return func(id monitor.ID) bool { return pending[id] }
}

// summary is the report as attributes of its log line.
func (r *report) summary(took time.Duration, late bool, err error) []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	attrs := []any{"duration_sec", took.Seconds(), "timed_out", late, "elected", r.elected, "active", r.active, "unsettled", len(r.pending)}
	for _, what := range []string{adoptedWorkers, firstWorkers, relaunchedWorkers, failedMonitors, zombieWorkers,
		orphanedWorkers, supersededWorkers, changedMeanwhile, skippedMonitors} {
		attrs = append(attrs, what, r.counts[what])
	}
	if len(r.pending) > 0 {
		attrs = append(attrs, "unsettled_monitors", slices.Sorted(maps.Keys(r.pending)))
	}
	if err != nil {
		attrs = append(attrs, "error", err.Error())
	}
	return attrs
}
