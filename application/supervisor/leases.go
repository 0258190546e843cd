package supervisor

import (
	"maps"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// leases measures how long each worker has not reported. Each comparison adds the
// monotonic time since the last comparison, if the monitor did not change meanwhile. It
// adds at most one comparison interval. So no lease expires because a clock steps, or
// because this gateway was suspended or had no database and could get no reports.
type leases struct {
	reportLease      time.Duration // of a worker that has reported, and of one that was never launched
	firstReportLease time.Duration // of a worker that runs and has not reported
	startLease       time.Duration // of a pending worker
	maxCounted       time.Duration // most time that one comparison adds; Config.ReconcileInterval

	mu             sync.Mutex
	lastComparison time.Time     // when it started
	counted        time.Duration // the time that this comparison adds
	entries        map[monitor.ID]leaseEntry
}

// leaseEntry holds the results of the last comparison for one monitor.
type leaseEntry struct {
	generation int
	updatedAt  time.Time     // by the database's clock: only compared for equality
	silence    time.Duration // time without a report that counts
	pending    bool
	unlisted   bool
}

// workerListing is the launcher's information about a monitor's newest worker.
type workerListing struct {
	listed      bool // the launcher lists it
	unavailable bool // the launcher cannot list workers
	pending     bool // it is listed and has not started yet
	notLaunched bool // it is not listed, although the launcher lists every launched worker
}

func newLeases(reportLease, firstReportLease, startLease, maxCounted time.Duration) *leases {
	return &leases{reportLease: reportLease, firstReportLease: firstReportLease, startLease: startLease, maxCounted: maxCounted, entries: map[monitor.ID]leaseEntry{}}
}

// beginComparison determines the time that this comparison adds.
func (l *leases) beginComparison(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counted = 0
	if !l.lastComparison.IsZero() {
		l.counted = min(now.Sub(l.lastComparison), l.maxCounted)
	}
	l.lastComparison = now
}

// record adds a comparison's time to a monitor's lease. expired is the duration of the
// lease if it has expired, else 0. unlistedBefore reports whether the launcher did not
// list the worker at the last comparison.
func (l *leases) record(m monitor.Monitor, v workerListing) (expired time.Duration, unlistedBefore bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[m.ID]
	switch {
	case !known, e.generation != m.Generation:
		e = leaseEntry{generation: m.Generation, updatedAt: m.UpdatedAt}
	case !e.updatedAt.Equal(m.UpdatedAt), e.pending && !v.pending && !v.unavailable:
		e.updatedAt, e.silence = m.UpdatedAt, 0
	default:
		e.silence += l.counted
	}
	unlistedBefore = e.unlisted
	if !v.unavailable {
		e.unlisted, e.pending = !v.listed, v.pending
	}
	l.entries[m.ID] = e
	if lease := l.duration(m, e, v); e.silence >= lease {
		return lease, unlistedBefore
	}
	return 0, unlistedBefore
}

// duration returns the lease that applies to a worker.
func (l *leases) duration(m monitor.Monitor, e leaseEntry, v workerListing) time.Duration {
	switch {
	case e.pending:
		return l.startLease
	case !m.ReportedAt.IsZero(), v.notLaunched && !v.unavailable:
		return l.reportLease
	}
	return l.firstReportLease
}

// renew starts the lease of a generation again; generation 0 means any. It may be called
// between two comparisons.
func (l *leases) renew(id monitor.ID, generation int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, known := l.entries[id]; known && (generation == 0 || generation == e.generation) {
		e.silence = 0
		l.entries[id] = e
	}
}

// retain forgets all monitors but the active ones.
func (l *leases) retain(active map[monitor.ID]monitor.Monitor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.entries, func(id monitor.ID, _ leaseEntry) bool { return active[id].ID == "" })
}
