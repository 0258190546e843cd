package acceptance_test

import (
	"testing"

	"golang.org/x/sync/semaphore"
)

// streams has room for those that are watched at once. Timelines spend most of their time waiting, so many run side by side. The
// CPU limits them: a stream that is checked every 2 s costs about 5 % of a core. Those that take three minutes or more need no
// room: they begin at once, for the last to begin would end alone.
var streams = semaphore.NewWeighted(12)

// runTimeline lets a test run beside others. It blocks until there is room for its n streams, and gives it back when the test ends.
func runTimeline(t *testing.T, n int64) {
	t.Helper()
	t.Parallel()
	if err := streams.Acquire(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { streams.Release(n) })
}
