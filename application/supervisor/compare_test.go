package supervisor

import (
	"errors"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Section 10.4, decisions O3 and O5.
func TestEvidenceLeadsToItsVerdict(t *testing.T) {
	const other = 3 // another generation than the newest, which is 4
	for _, c := range []struct {
		facts
		want verdict
	}{
		// Launched here, in a runtime of its own: its worker runs.
		{facts{runningGeneration: 4, inOwnRuntime: true, ownedByGateway: true}, nothingToDo},
		{facts{runningGeneration: 4, inOwnRuntime: true}, adopt},
		{facts{runningGeneration: 4, inOwnRuntime: true, leader: true}, adopt},
		// Its worker does not run.
		{facts{inOwnRuntime: true}, missing},
		{facts{inOwnRuntime: true, leader: true}, missing},
		{facts{inOwnRuntime: true, ownedByGateway: true}, nothingToDo}, // it is being launched, or its exit will be reported
		{facts{inOwnRuntime: true, runningGeneration: other}, missing},
		{facts{inOwnRuntime: true, runningGeneration: other, ownedByGateway: true}, nothingToDo},
		{facts{inOwnRuntime: true, runningGeneration: 5}, missing}, // a database that was restored
		{facts{inOwnRuntime: true, leaseExpired: true, leader: true}, missing},

		// Launched here, in a shared runtime.
		{facts{runningGeneration: 4, inOwnRuntime: true, sharedRuntime: true}, nothingToDo}, // one of them looks after it
		{facts{runningGeneration: 4, inOwnRuntime: true, sharedRuntime: true, leader: true}, adopt},
		{facts{runningGeneration: 4, inOwnRuntime: true, sharedRuntime: true, leader: true, ownedByGateway: true}, nothingToDo},
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, reported: true}, nothingToDo}, // it may be being launched
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, reported: true, unlistedBefore: true}, missing},
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, reported: true, unlistedBefore: true, ownedByGateway: true}, nothingToDo},
		{facts{inOwnRuntime: true, sharedRuntime: true, reported: true, unlistedBefore: true}, nothingToDo},
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, unlistedBefore: true}, nothingToDo}, // it is being launched
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, unlistedBefore: true, leaseExpired: true}, missing},
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, runningGeneration: other, reported: true, unlistedBefore: true}, missing},

		// Workers cannot be listed.
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, listUnavailable: true, reported: true, unlistedBefore: true}, nothingToDo},
		{facts{inOwnRuntime: true, sharedRuntime: true, leader: true, listUnavailable: true, leaseExpired: true}, silent},
		{facts{inOwnRuntime: true, sharedRuntime: true, listUnavailable: true, leaseExpired: true}, nothingToDo},
		{facts{inOwnRuntime: true, listUnavailable: true}, nothingToDo},

		// Launched elsewhere.
		{facts{}, nothingToDo},
		{facts{leader: true}, nothingToDo},
		{facts{leader: true, reported: true, unlistedBefore: true}, nothingToDo}, // it runs in another runtime
		{facts{runningGeneration: other}, outdated},
		{facts{runningGeneration: other, leader: true}, outdated},
		{facts{runningGeneration: 5, leader: true}, nothingToDo}, // a database that was restored
		{facts{runningGeneration: other, leader: true, busy: true}, nothingToDo},

		// This gateway refuses its token.
		{facts{runningGeneration: 4, refused: true, inOwnRuntime: true, sharedRuntime: true, leader: true}, refused},
		{facts{runningGeneration: 4, refused: true, inOwnRuntime: true, sharedRuntime: true, leader: true, leaseExpired: true}, refused},
		{facts{runningGeneration: 4, refused: true, inOwnRuntime: true, sharedRuntime: true}, nothingToDo}, // another gateway is the leader
		{facts{runningGeneration: 4, refused: true, inOwnRuntime: true}, refused},
		{facts{runningGeneration: other, refused: true, inOwnRuntime: true, sharedRuntime: true, leader: true}, nothingToDo}, // the next one is being launched

		// It does not report.
		{facts{runningGeneration: 4, inOwnRuntime: true, ownedByGateway: true, leaseExpired: true, leader: true}, silent},
		{facts{runningGeneration: 4, inOwnRuntime: true, ownedByGateway: true, leaseExpired: true}, nothingToDo}, // another gateway is the leader
		{facts{gatewayBeats: true, leaseExpired: true, leader: true}, silent},
		{facts{gatewayBeats: true, leaseExpired: true}, nothingToDo},
		{facts{gatewayBeats: true, runningGeneration: other, leaseExpired: true, leader: true}, silent},

		// Its gateway has died.
		{facts{takesOver: true}, abandoned},
		{facts{takesOver: true, busy: true}, nothingToDo},
		{facts{takesOver: true, leaseExpired: true, leader: true}, abandoned},
		{facts{takesOver: true, listUnavailable: true}, abandoned},
		{facts{takesOver: true, runningGeneration: other}, abandoned}, // of an earlier generation, which ran here
		{facts{leaseExpired: true, leader: true}, abandoned},          // it died before this gateway saw it alive
		{facts{leaseExpired: true}, nothingToDo},
		{facts{runningGeneration: other, leaseExpired: true, leader: true}, abandoned},

		// It has no active monitor.
		{facts{unneeded: true, runningGeneration: 4}, unneeded},
		{facts{unneeded: true, runningGeneration: 4, busy: true}, nothingToDo},
		{facts{unneeded: true, runningGeneration: 4, ownedByGateway: true}, nothingToDo}, // it ends by itself
		{facts{unneeded: true, runningGeneration: 4, ownedByGateway: true, unneededFor: orphanGracePeriod}, unneeded},
	} {
		c.newestGeneration = 4
		if got := evaluate(c.facts); got != c.want {
			t.Errorf("%+v: %d, want %d", c.facts, got, c.want)
		}
	}
}

// Decision O3: three reports, 30 s; compared every 5 s.
func TestALeaseExpiresWithoutReports(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(sec int) time.Time { return start.Add(time.Duration(sec) * time.Second) }
	const hour = 3600
	for _, c := range []struct {
		name        string
		comparisons []int                      // s
		updated     func(sec int) (change int) // as the database has it
		first       bool                       // it has not reported yet
		expired     int                        // second of the first expired comparison; 0: never
	}{
		{"a worker that reports keeps its lease", every(5, 0, 120), func(sec int) int { return sec / 10 }, false, 0},
		{"a lease expires 30 s after the last report, not before", every(5, 0, 60), func(int) int { return 0 }, false, 30},
		{"a lease expires 30 s after a later last report", every(5, 0, 120), func(sec int) int { return min(sec, 40) }, false, 70},
		{"a worker that has not reported yet has two minutes", every(5, 0, 150), func(int) int { return 0 }, true, 120},
		{"steps of the database's clock expire no lease", every(5, 0, 120), func(sec int) int { return sec/10 - sec/60*hour }, false, 0},
		{"a gap between comparisons counts as one interval", append(every(5, 0, 20), 80, 85, 90), func(int) int { return 0 }, false, 85},
		{"many gaps count as one interval each", []int{0, 14, 28, 42, 56, 70, 84}, func(int) int { return 0 }, false, 84},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newTestLeases()
			for _, sec := range c.comparisons {
				m := monitor.Monitor{ID: "mon-a", Generation: 1, UpdatedAt: at(c.updated(sec))}
				if !c.first {
					m.ReportedAt = m.UpdatedAt
				}
				l.beginComparison(at(sec))
				got, _ := l.record(m, Worker{Generation: m.Generation}, nil)
				if want := c.expired != 0 && sec >= c.expired; (got > 0) != want {
					t.Errorf("at %d s: expired: %v, want %v", sec, got, want)
				}
			}
		})
	}

	t.Run("a launch and a report that could not be stored renew the lease", func(t *testing.T) {
		l := newTestLeases()
		m := monitor.Monitor{ID: "mon-a", Generation: 1, UpdatedAt: start, ReportedAt: start}
		for _, sec := range every(5, 0, 120) {
			switch sec {
			case 25:
				m.Generation++
			case 50:
				l.renew(m.ID, m.Generation)
			case 60:
				l.renew(m.ID, 1)
			}
			l.beginComparison(at(sec))
			if got, _ := l.record(m, Worker{Generation: m.Generation}, nil); (got > 0) != (sec >= 75) {
				t.Errorf("at %d s: expired: %v", sec, got)
			}
		}
	})

	t.Run("the lease before the first report depends on what is seen of the worker", func(t *testing.T) {
		pending, running := listing{Worker{Generation: 1, Pending: true}, nil}, listing{Worker{Generation: 1}, nil}
		notLaunched, blind := listing{}, listing{listErr: errors.New("no view")}
		for name, c := range map[string]struct {
			seen func(sec int) listing
			at   int           // when it expires
			term time.Duration // the lease
		}{
			"it stays pending":                             {func(int) listing { return pending }, 600, 10 * time.Minute},
			"it starts late, then hangs":                   {func(sec int) listing { return pick(sec < 300, pending, running) }, 420, 2 * time.Minute},
			"it was never launched":                        {func(int) listing { return notLaunched }, 30, 30 * time.Second},
			"the launcher cannot list":                     {func(int) listing { return blind }, 120, 2 * time.Minute},
			"it was never launched, then it cannot list":   {func(sec int) listing { return pick(sec < 20, notLaunched, blind) }, 120, 2 * time.Minute},
			"it is pending, then the launcher cannot list": {func(sec int) listing { return pick(sec < 100, pending, blind) }, 600, 10 * time.Minute},
			"it is pending, then it is gone":               {func(sec int) listing { return pick(sec < 100, pending, notLaunched) }, 130, 30 * time.Second},
		} {
			l := newTestLeases()
			for _, sec := range every(5, 0, 650) {
				l.beginComparison(at(sec))
				seen := c.seen(sec)
				term, _ := l.record(monitor.Monitor{ID: "mon-a", Generation: 1, RuntimeID: "here"}, seen.listed, seen.listErr)
				if term > 0 || sec == 650 {
					if sec != c.at || term != c.term {
						t.Errorf("%s: after %d s the lease of %v has expired, want after %d s of %v", name, sec, term, c.at, c.term)
					}
					break
				}
			}
		}
	})

	t.Run("absence at the last comparison is remembered", func(t *testing.T) {
		l := newTestLeases()
		m := monitor.Monitor{ID: "mon-a", Generation: 1, RuntimeID: "here"}
		for n, c := range []struct {
			generation int
			running    bool
			before     bool
		}{{1, false, false}, {1, false, true}, {1, true, true}, {1, false, false}, {2, false, false}, {2, false, true}} {
			m.Generation = c.generation
			l.beginComparison(at(5 * n))
			listed := Worker{}
			if c.running {
				listed.Generation = c.generation
			}
			if _, before := l.record(m, listed, nil); before != c.before {
				t.Errorf("comparison %d: unlistedBefore is %v, want %v", n, before, c.before)
			}
		}
	})

	t.Run("ended monitors are forgotten", func(t *testing.T) {
		l := newTestLeases()
		l.beginComparison(start)
		l.record(monitor.Monitor{ID: "mon-a"}, Worker{}, nil)
		l.retain(nil)
		if len(l.entries) != 0 {
			t.Error("an ended monitor is remembered")
		}
	})
}

// listing is what the launcher says of a worker.
type listing struct {
	listed  Worker
	listErr error
}

func newTestLeases() *leases {
	return newLeases(Runtime{ID: "here", Shared: true})
}

func pick(first bool, a, b listing) listing {
	if first {
		return a
	}
	return b
}

func every(step, from, to int) (all []int) {
	for ; from <= to; from += step {
		all = append(all, from)
	}
	return all
}
