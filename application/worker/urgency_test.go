package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// waitsForUrgency answers the first question with an answer. Each later one waits until it is
// more urgent than a poll, and then tells when.
func waitsForUrgency(first watch.Resolution, urgent chan<- time.Time) func(context.Context) watch.Resolution {
	asked := false
	return func(ctx context.Context) watch.Resolution {
		if !asked {
			asked = true
			return first
		}
		if u, raised := worker.UrgencyOf(ctx); u == watch.UrgencyPoll {
			select {
			case <-raised:
				urgent <- time.Now()
			case <-ctx.Done():
			}
		}
		return first
	}
}

func TestAQuestionThatWaitsBecomesUrgentWhenItsStreamFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		urgent := make(chan time.Time, 1)
		s.resolve = waitsForUrgency(watch.Resolution{State: watch.Live, Manifest: "https://media.test/list.m3u8"}, urgent)
		wait := startWorker(t.Context(), t, s, g)
		time.Sleep(time.Hour + time.Minute) // the regular question of the hour waits
		failed := time.Now()
		s.set(func(s *fakeStream) { s.unreadable = true })
		if after := (<-urgent).Sub(failed); after > 10*time.Second {
			t.Errorf("it became urgent after %v", after)
		}
		s.set(func(s *fakeStream) { s.unreadable, s.ended = false, true })
		endsWell(t, wait)
	})
}

func TestAQuestionThatWaitsBecomesUrgentAtTheScheduledStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		start := time.Now().Add(50 * time.Second)
		g.config.ScheduledStartTime = &start
		urgent := make(chan time.Time, 1)
		s.resolve = waitsForUrgency(watch.Resolution{State: watch.Upcoming}, urgent)
		stop := runWorker(t, ports(s, g))
		if late := (<-urgent).Sub(start); late < 0 || late > 10*time.Second {
			t.Errorf("it became urgent %v after the scheduled start", late)
		}
		stop()
	})
}
