package worker

import (
	"sync/atomic"
	"time"
)

const (
	// clockTolerance is the least difference to the wall clock that a worker adopts.
	// Slewing causes no difference, because it also slews the monotonic clock
	// (adjtime(3)).
	clockTolerance = time.Second

	// clockCheckInterval is the longest time between two comparisons with the wall clock.
	clockCheckInterval = 10 * time.Second
)

// clock is the time of one worker: the wall clock at its start plus the monotonic time
// since. Only follow adopts a changed wall clock, so that its caller can pass the step to
// the watcher. Only the goroutine of the loop may call follow; the other methods may be called
// concurrently.
type clock struct {
	wall    func() time.Time
	started time.Time    // with its monotonic reading
	base    time.Time    // the wall clock's reading at started
	stepped atomic.Int64 // nanoseconds by which the wall clock was set since
}

func newClock(wall func() time.Time) *clock {
	return &clock{wall: wall, started: time.Now(), base: wall().Round(0)}
}

// now returns the worker's time, in UTC and without a monotonic reading.
func (c *clock) now() time.Time { return c.at(time.Now()) }

// at returns the worker's time at an instant of time.Now.
func (c *clock) at(instant time.Time) time.Time {
	return c.base.Add(instant.Sub(c.started) + time.Duration(c.stepped.Load())).UTC()
}

// follow adopts the wall clock after somebody set it or the machine was suspended. It
// returns the change of the worker's time, or 0.
func (c *clock) follow() (step time.Duration) {
	before := time.Now()
	wall := c.wall().Round(0)
	if time.Since(before) > clockTolerance/10 {
		return 0 // the process was halted between the two readings
	}
	step = wall.Sub(c.at(before))
	if step.Abs() < clockTolerance {
		return 0
	}
	c.stepped.Add(int64(step))
	return step
}
