package quality_test

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// underWay is a task that is done, and what it will have found.
type underWay struct {
	until time.Time
	found watch.Observation
}

// simulate runs a watcher on virtual time from now on, until it has finished or time is up. Its tasks are done one at a
// time in each lane; observe says what a task that begins at a time finds, and how long it takes.
func simulate(watcher *watch.Watcher, now, end time.Time, observe func(watch.Task, time.Time) (watch.Observation, time.Duration)) (events []received, finished bool) {
	var lanes [watch.LaneTimer]*underWay
	for now.Before(end) {
		next := watch.Task{At: end, Kind: watch.TaskWake}
		for _, t := range watcher.Next() {
			if lane := t.Kind.Lane(); t.At.Before(next.At) && (lane == watch.LaneTimer || lanes[lane] == nil) {
				next = t
			}
		}
		if next.At.After(now) {
			now = next.At
		}
		first := watch.LaneTimer // the lane that is done before the next task begins
		for lane, running := range lanes {
			if running != nil && !running.until.After(now) {
				first, now = watch.Lane(lane), running.until
			}
		}
		var o watch.Observation = watch.Tick{}
		switch lane := next.Kind.Lane(); {
		case first != watch.LaneTimer:
			o, lanes[first] = lanes[first].found, nil
		case lane != watch.LaneTimer:
			found, took := observe(next, now)
			lanes[lane] = &underWay{now.Add(took), found}
			continue
		}
		for _, e := range watcher.Step(now, o) {
			switch e := e.(type) {
			case watch.EventEmitted:
				events = append(events, received{now.Sub(epoch), e.Event})
			case watch.Finished:
				return events, true
			}
		}
	}
	return events, false
}
