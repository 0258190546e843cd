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
// start of ffmpeg. On two cores a fifth is left for peaks; without it checks are skipped
// and instants are less exact.
const (
	maxStreams      = 28                     // watched at once
	maxQuietStreams = 15                     // while a quiet timeline runs or waits
	startInterval   = 800 * time.Millisecond // between the starts of two streams
)

// timelines is the schedule of this test run.
var timelines = &schedule{}

// schedule starts timelines: quiet ones first, and of each kind the longest
// first, so that none is left to run alone at the end.
type schedule struct {
	mu      sync.Mutex
	waiting []*timeline
	streams int       // of the timelines that run
	quiet   int       // quiet timelines that run
	nextAt  time.Time // the next start
}

// timeline is a test that waits for its start, or runs.
type timeline struct {
	streams int           // watched at once
	length  time.Duration // on an idle machine, about
	quiet   bool
	start   chan struct{} // closed when it may run
}

// runTimeline lets a test run beside others. It blocks until the machine has
// room for its streams; length is about how long it takes.
func runTimeline(t *testing.T, streams int, length time.Duration) {
	t.Helper()
	t.Parallel()
	timelines.run(t, &timeline{streams: streams, length: length})
}

// runQuietTimeline is runTimeline for a test with limits of seconds. The gateway
// keeps them only on a machine with spare CPU time.
func runQuietTimeline(t *testing.T, streams int, length time.Duration) {
	t.Helper()
	t.Parallel()
	timelines.run(t, &timeline{streams: streams, length: length, quiet: true})
}

func (s *schedule) run(t *testing.T, l *timeline) {
	t.Helper()
	l.start = make(chan struct{})
	began := time.Now()
	s.mu.Lock()
	s.waiting = append(s.waiting, l)
	slices.SortStableFunc(s.waiting, func(a, b *timeline) int {
		if a.quiet != b.quiet {
			if a.quiet {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.length, a.length)
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
		s.streams -= l.streams
		if l.quiet {
			s.quiet--
		}
		s.admit()
	})
}

// admit starts the next timelines that fit. s.mu is held.
func (s *schedule) admit() {
	for len(s.waiting) > 0 {
		next := s.waiting[0]
		limit := maxStreams
		if next.quiet || s.quiet > 0 {
			limit = maxQuietStreams
		}
		if s.streams > 0 && s.streams+next.streams > limit {
			return
		}
		if wait := time.Until(s.nextAt); wait > 0 {
			time.AfterFunc(wait, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.admit()
			})
			return
		}
		s.waiting = s.waiting[1:]
		s.streams += next.streams
		if next.quiet {
			s.quiet++
		}
		s.nextAt = time.Now().Add(time.Duration(max(next.streams, 1)) * startInterval)
		close(next.start)
	}
}
