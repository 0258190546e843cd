package scenario

import (
	"testing"
	"time"
)

// DisruptionThreshold is how long a picture is black before the alert. Everything is disrupted
// meanwhile, so that the alert is due when it may have come back.
const DisruptionThreshold = 15 * time.Second

// Disruption is something that happens to an installation.
type Disruption struct {
	Do     func(t *testing.T, s *Stream) // while the picture is black, before the alert is due
	Then   func(t *testing.T, s *Stream) // asserts more once the stream is watched again; nil: nothing
	Within time.Duration                 // from the end of Do until the next check
	Late   time.Duration                 // how much later than without a disruption the alert may come
}

// Survive disrupts an installation that watches a black picture. The stream must be watched
// again soon, and each event must come once, with the instants of the stream.
func (e *Env) Survive(t *testing.T, d Disruption) {
	t.Helper()
	s := e.Watch(t, Video{Threshold: DisruptionThreshold})
	s.WaitChecks(2, 30*time.Second)
	s.GoBlack()
	s.Eventually(t, 30*time.Second, "the gateway knows that it is black", func() bool { return s.Health("video") == "black" })
	d.Do(t, s)
	since := time.Now()
	s.WaitChecks(1, d.Within)
	t.Logf("watched again after %.1f s", time.Since(since).Seconds())
	if d.Then != nil {
		d.Then(t, s)
	}
	s.AssertAlert(d.Late)
	s.AssertBlackoutCycle()
	s.EndAndAssert(Blackout, BlackoutRecovered)
}
