package worker

import "time"

const (
	// clockTolerance is by how much a worker's time may differ from the wall clock
	// before it follows. A slewed clock does not differ: the monotonic one is slewed
	// with it (adjtime(3)).
	clockTolerance = time.Second

	// clockCheckInterval is how often the two are compared at the least.
	clockCheckInterval = 10 * time.Second
)

// clock is the time of one worker: the wall clock at its start plus the time that
// has passed since by the monotonic clock. It follows a wall clock that was set only
// when follow is called, so that the watcher can be told of the step. It belongs to
// the goroutine of the loop.
type clock struct {
	wall    func() time.Time
	started time.Time // with its monotonic reading
	base    time.Time // the wall clock's reading at started
}

func newClock(wall func() time.Time) *clock {
	return &clock{wall: wall, started: time.Now(), base: wall().Round(0)}
}

// now is the worker's time, in UTC and without a monotonic reading.
func (c *clock) now() time.Time { return c.at(time.Now()) }

// at is the worker's time at an instant that time.Now gave.
func (c *clock) at(instant time.Time) time.Time {
	return c.base.Add(instant.Sub(c.started)).UTC()
}

// follow goes on by the wall clock if that was set, or the machine was suspended,
// and returns by how much the worker's time has changed; 0: not at all.
func (c *clock) follow() (step time.Duration) {
	before := time.Now()
	wall := c.wall().Round(0)
	if time.Since(before) > clockTolerance/10 {
		return 0 // halted between two readings, which then do not belong together
	}
	step = wall.Sub(c.at(before))
	if step.Abs() < clockTolerance {
		return 0
	}
	c.base = c.base.Add(step)
	return step
}
