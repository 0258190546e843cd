package acceptance_test

import (
	"testing"

	"golang.org/x/sync/semaphore"
)

// Timelines spend most of their time waiting, so many run side by side. The CPU limits
// them: a stream that is checked every 2 s costs about 5 % of a core. On two cores half is
// left for starts, peaks and slower machines. Packagings resolve with the real
// yt-dlp and decode more than others.
var (
	streams    = semaphore.NewWeighted(20)
	packagings = semaphore.NewWeighted(6)
)

// take blocks until the machine has room for n streams, and gives it back when the test ends.
func take(t *testing.T, room *semaphore.Weighted, n int64) {
	t.Helper()
	if err := room.Acquire(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { room.Release(n) })
}

// runTimeline lets a test run beside others. It blocks until there is room for its streams.
func runTimeline(t *testing.T, n int64) {
	t.Helper()
	t.Parallel()
	take(t, streams, n)
}
