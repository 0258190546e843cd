package acceptance_test

import (
	"cmp"
	"slices"
	"sync"
	"testing"
	"time"
)

// Timelines spend most of their time waiting, so many run side by side. The CPU limits
// them: a stream that is checked every 2 s costs about 5 % of a core, half of it the
// start of ffmpeg. On two cores more than half is left for starts, peaks and slower machines.
// Costly timelines run beside those that wait longest, not all at the end. Loads are
// in percent of a core.
const (
	checkedLoad   = 4               // of a stream whose segments are analysed
	outageLoad    = 2               // of a stream that most of the time has none
	maxLoad       = 80              // of all timelines that run
	maxCostly     = 6               // costly timelines
	startInterval = 2 * time.Second // between the starts of two streams
)

// timelines is the schedule of this test run.
var timelines = &schedule{}

// schedule starts outages first, then as many costly timelines as may run at once. Of each
// kind the longest starts first, so none is left to run alone at the end.
type schedule struct {
	mu      sync.Mutex
	waiting []*timeline
	load    int       // of the timelines that run
	costly  int       // costly timelines that run
	nextAt  time.Time // the next start
}

// timeline is a test that waits for its start, or runs.
type timeline struct {
	streams int           // watched at once
	length  time.Duration // on an idle machine, about
	kind    kind
	start   chan struct{} // closed when it may run
}

type kind int

const (
	outage kind = iota // its streams have no media for most of its length
	costly             // resolves with the real yt-dlp, and decodes more than others
	other
)

// load returns how much of a core the timeline needs.
func (l *timeline) load() int {
	if l.kind == outage {
		return l.streams * outageLoad
	}
	return l.streams * checkedLoad
}

// runTimeline lets a test run beside others. It blocks until the machine has
// room for its streams; length is about how long it takes.
func runTimeline(t *testing.T, streams int, length time.Duration) {
	t.Helper()
	t.Parallel()
	timelines.run(t, &timeline{streams: streams, length: length, kind: other})
}

// runOutageTimeline is runTimeline for a test in which little is analysed.
func runOutageTimeline(t *testing.T, streams int, length time.Duration) {
	t.Helper()
	t.Parallel()
	timelines.run(t, &timeline{streams: streams, length: length, kind: outage})
}

// runCostlyTimeline is runTimeline for a test of which many would saturate the CPU.
func runCostlyTimeline(t *testing.T, streams int, length time.Duration) {
	t.Helper()
	t.Parallel()
	timelines.run(t, &timeline{streams: streams, length: length, kind: costly})
}

func (s *schedule) run(t *testing.T, l *timeline) {
	t.Helper()
	l.start = make(chan struct{})
	began := time.Now()
	s.mu.Lock()
	s.waiting = append(s.waiting, l)
	slices.SortStableFunc(s.waiting, func(a, b *timeline) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(b.length, a.length))
	})
	if s.nextAt.IsZero() { // the others are about to come, too
		s.nextAt = time.Now().Add(startInterval)
	}
	s.admit()
	s.mu.Unlock()

	<-l.start
	t.Logf("started after %.0f s", time.Since(began).Seconds())
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count(l, -1)
		s.admit()
	})
}

// admit starts the next timelines that fit. s.mu is held.
func (s *schedule) admit() {
	for {
		i := slices.IndexFunc(s.waiting, func(l *timeline) bool { return l.kind != costly || s.costly < maxCostly })
		if i < 0 {
			return
		}
		next := s.waiting[i]
		if s.load > 0 && s.load+next.load() > maxLoad {
			return
		}
		if wait := time.Until(s.nextAt); wait > 0 {
			s.admitAfter(wait)
			return
		}
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.count(next, 1)
		s.nextAt = time.Now().Add(time.Duration(max(next.streams, 1)) * startInterval)
		close(next.start)
	}
}

// admitAfter calls admit when a time has passed.
func (s *schedule) admitAfter(wait time.Duration) {
	time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.admit()
	})
}

// count adds a timeline to those that run, or takes it from them. s.mu is held.
func (s *schedule) count(l *timeline, sign int) {
	s.load += sign * l.load()
	if l.kind == costly {
		s.costly += sign
	}
}
