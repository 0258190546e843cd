package supervisor

import (
	"maps"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// leases measures how long each worker has not reported. Time counts on the monotonic
// clock, between two comparisons without a change, and never more than one comparison
// interval at once. So a step of a clock expires no lease. Nor does time in which this
// gateway was suspended or had no database, when no report could arrive.
type leases struct {
	report      time.Duration // of a worker that has reported, or was not launched
	firstReport time.Duration // of a worker that runs and has not reported
	start       time.Duration // of a pending worker
	interval    time.Duration // upper bound of the time counted for one comparison

	mu      sync.Mutex
	last    time.Time     // start of the last comparison
	elapsed time.Duration // what counts in this comparison
	entries map[monitor.ID]leaseEntry
}

// leaseEntry is what the last comparison saw of a monitor's worker.
type leaseEntry struct {
	generation int
	updatedAt  time.Time // by the database's clock: only compared for equality
	silence    time.Duration
	pending    bool
	absent     bool
}

// visibility is what the launcher shows of a monitor's newest worker.
type visibility struct {
	running     bool // it is listed
	blind       bool // the launcher cannot list workers
	pending     bool // it is listed and has not started yet
	notLaunched bool // it is not listed, and would be if it had been launched
}

func newLeases(report, firstReport, start, interval time.Duration) *leases {
	return &leases{report: report, firstReport: firstReport, start: start, interval: interval, entries: map[monitor.ID]leaseEntry{}}
}

// beginComparison counts the time since the last comparison.
func (l *leases) beginComparison(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.elapsed = 0
	if !l.last.IsZero() {
		l.elapsed = min(now.Sub(l.last), l.interval)
	}
	l.last = now
}

// observe records what a comparison sees of a monitor. It returns the lease if that
// has expired, else 0; and whether the last comparison did not find the worker, either.
func (l *leases) observe(m monitor.Monitor, v visibility) (expired time.Duration, absentBefore bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[m.ID]
	switch {
	case !known, e.generation != m.Generation:
		e = leaseEntry{generation: m.Generation, updatedAt: m.UpdatedAt}
	case !e.updatedAt.Equal(m.UpdatedAt), e.pending && !v.pending && !v.blind:
		e.updatedAt, e.silence = m.UpdatedAt, 0
	default:
		e.silence += l.elapsed
	}
	absentBefore = e.absent
	if !v.blind {
		e.absent, e.pending = !v.running, v.pending
	}
	l.entries[m.ID] = e
	if lease := l.duration(m, e, v); e.silence >= lease {
		return lease, absentBefore
	}
	return 0, absentBefore
}

func (l *leases) duration(m monitor.Monitor, e leaseEntry, v visibility) time.Duration {
	switch {
	case e.pending:
		return l.start
	case !m.ReportedAt.IsZero(), v.notLaunched && !v.blind:
		return l.report
	}
	return l.firstReport
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
