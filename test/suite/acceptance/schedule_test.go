package acceptance_test

import (
	"sync"
	"testing"
)

// Timelines spend most of their time waiting, so many run side by side. The CPU limits
// them: a stream that is checked every 2 s costs about 5 % of a core. On two cores more
// than half is left for starts, peaks and slower machines. Packagings resolve with the real
// yt-dlp and decode more than others.
var (
	streams    = newSlots(14)
	packagings = newSlots(6)
)

// slots lets so many streams be watched at once.
type slots struct {
	taking sync.Mutex // held by the test that waits
	free   chan struct{}
}

func newSlots(n int) *slots { return &slots{free: make(chan struct{}, n)} }

// take blocks until n slots are free, and gives them back when the test ends.
func (s *slots) take(t *testing.T, n int) {
	t.Helper()
	s.taking.Lock()
	defer s.taking.Unlock()
	for range n {
		s.free <- struct{}{}
	}
	t.Cleanup(func() {
		for range n {
			<-s.free
		}
	})
}

// runTimeline lets a test run beside others. It blocks until the machine has room for its
// streams.
func runTimeline(t *testing.T, n int) {
	t.Helper()
	t.Parallel()
	streams.take(t, n)
}
