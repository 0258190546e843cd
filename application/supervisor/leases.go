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
	runtime Runtime

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
	pending    bool          // the launcher listed the newest generation, which had not started yet
	unlisted   bool          // the launcher lists all workers of the runtime, and did not list the newest generation
}

func newLeases(r Runtime) *leases {
	return &leases{runtime: r, entries: map[monitor.ID]leaseEntry{}}
}

// beginComparison determines the time that this comparison adds.
func (l *leases) beginComparison(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counted = 0
	if !l.lastComparison.IsZero() {
		l.counted = min(now.Sub(l.lastComparison), compareInterval)
	}
	l.lastComparison = now
}

// record adds a comparison's time to a monitor's lease. listed is the monitor's worker in the
// launcher's list, if listErr is nil. expired is the duration of the lease if it has expired,
// else 0. unlistedBefore reports that the newest generation was unlisted at the last comparison.
func (l *leases) record(m monitor.Monitor, listed Worker, listErr error) (expired time.Duration, unlistedBefore bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[m.ID]
	isNew := e.generation != m.Generation
	if isNew {
		e = leaseEntry{generation: m.Generation, updatedAt: m.UpdatedAt}
	}
	wasPending, unlistedBefore := e.pending, e.unlisted
	if listErr == nil {
		isListed := listed.Generation == m.Generation
		e.pending = isListed && listed.Pending
		e.unlisted = !isListed && l.runtime.Shared && m.RuntimeID == l.runtime.ID
	}
	switch {
	case isNew:
	case !e.updatedAt.Equal(m.UpdatedAt), wasPending && !e.pending:
		e.updatedAt, e.silence = m.UpdatedAt, 0
	default:
		e.silence += l.counted
	}
	l.entries[m.ID] = e
	lease := firstReportLease
	switch {
	case e.pending:
		lease = startLease
	case !m.ReportedAt.IsZero(), e.unlisted && listErr == nil: // one that was never launched cannot report
		lease = reportLease
	}
	if e.silence < lease {
		lease = 0
	}
	return lease, unlistedBefore
}

// renew starts the lease of a generation again, if it is the newest. It may be called between two
// comparisons.
func (l *leases) renew(id monitor.ID, generation int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, known := l.entries[id]; known && generation == e.generation {
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
