package worker_test

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// wallClock is a machine's wall clock, which is wrong by an offset. The virtual time of
// synctest is the true time and the monotonic clock.
type wallClock struct{ offset atomic.Int64 }

func (c *wallClock) set(offset time.Duration) { c.offset.Store(int64(offset)) }

func (c *wallClock) now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.offset.Load()))
}

// A worker that starts before the clock is synchronised gives right times once it is.
// The step itself causes no event.
func TestAWorkerFollowsTheClockWhenItIsSet(t *testing.T) {
	for _, wrong := range []time.Duration{-5 * time.Hour, -10 * time.Minute, -5 * time.Second, 5 * time.Second, 10 * time.Minute, 5 * time.Hour} {
		t.Run(fmt.Sprintf("from %s off", wrong), func(t *testing.T) {
			var recording bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				s, g := &fakeStream{}, newFakeGateway()
				var clock wallClock
				clock.set(wrong)
				wait := startWorker(t.Context(), t, s, g, func(c *worker.Config) { c.Now, c.Recording = clock.now, &recording })
				time.Sleep(20 * time.Second)
				clock.set(0)
				stepped := time.Now()
				time.Sleep(10 * time.Minute) // longer than any limit on an outage or blindness
				began := time.Now()
				playBlackout(s)
				endsWell(t, wait)
				if got := g.eventTypes(); got != blackoutEvents {
					t.Errorf("events %s, want %s", got, blackoutEvents)
				}
				for _, e := range g.accepted[1:] {
					if off := e.At.Sub(began); off < 0 || off > time.Minute {
						t.Errorf("%s is stamped %s from when the clock was set", e.Type, e.At.Sub(stepped))
					}
					if a, ok := e.Data.(event.Alert); ok && a.StartedAt.Sub(began.Add(20*time.Second)).Abs() > 3*time.Second {
						t.Errorf("black since %s after the true onset", a.StartedAt.Sub(began.Add(20*time.Second)))
					}
				}
				if last := g.lastReport(); time.Since(last.At).Abs() > 5*time.Second || last.Status != monitor.Completed {
					t.Errorf("the last report says %s, %s ago", last.Status, time.Since(last.At))
				}
			})
			if err := worker.Replay(&recording, func(watch.RecordedStep) {}); err != nil {
				t.Errorf("the recording does not replay: %v", err)
			}
		})
	}
}

// A report that is older than the newest one counts as overtaken (monitor.Report).
// This must not happen to many minutes of reports after the clock is set back.
func TestReportsAreNotOvertakenWhenTheClockIsSetBack(t *testing.T) {
	for _, back := range []time.Duration{3 * time.Second, 10 * time.Minute, 29 * time.Minute, 5 * time.Hour} {
		scenario(t, back.String(), func(t *testing.T) {
			s, g := &fakeStream{}, newFakeGateway()
			var newest time.Time
			overtaken := 0
			g.respond = func(r monitor.Report) (monitor.Order, error) {
				if r.Overtaken(newest, monitor.Monitoring) {
					overtaken++
				}
				newest = r.At
				return monitor.Run, nil
			}
			var clock wallClock
			wait := startWorker(t.Context(), t, s, g, func(c *worker.Config) { c.Now = clock.now })
			time.Sleep(30 * time.Second)
			clock.set(-back)
			time.Sleep(time.Minute)
			endStream(t, s, wait)
			if overtaken > 0 {
				t.Errorf("%d reports count as overtaken", overtaken)
			}
			if off := time.Since(g.lastReport().At.Add(back)); off > 5*time.Second {
				t.Errorf("the end is stamped %s off", off)
			}
		})
	}
}
