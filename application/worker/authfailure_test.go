package worker_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// rejectKey makes a gateway reject the worker's key, or accept it again.
func (g *fakeGateway) rejectKey(reject bool) {
	g.set(func(g *fakeGateway) {
		g.assignmentErr, g.respond = nil, nil
		if reject {
			g.assignmentErr = monitor.Errorf(monitor.Unauthorized, "the key is another one")
			g.respond = func(monitor.Report) (monitor.Order, error) { return "", g.assignmentErr }
		}
	})
}

// INTERNAL_API_KEY may change while workers run. The worker ends before it counts as
// lost, and the gateway starts another with a new token.
func TestAWorkerEndsWhenItsKeyIsRejected(t *testing.T) {
	for _, c := range []struct {
		name     string
		accepted time.Duration // how long the key is right at first
	}{
		{"while it monitors", 30 * time.Second},
		{"before it has its assignment", 0},
	} {
		scenario(t, c.name, func(t *testing.T) {
			s, g := &fakeStream{}, newFakeGateway()
			g.rejectKey(c.accepted == 0)
			began := time.Now().Add(c.accepted)
			wait := startWorker(t.Context(), t, s, g)
			time.Sleep(c.accepted)
			g.rejectKey(true)
			if err := wait(); !errors.Is(err, worker.ErrKeyRejected) {
				t.Errorf("ended with %v", err)
			}
			if took := time.Since(began); took < 15*time.Second || took > 20*time.Second {
				t.Errorf("took %s, want 15 s and one attempt", took)
			}
		})
	}

	scenario(t, "but not during a rolling update, when only some gateways reject it", func(t *testing.T) {
		s, g := &fakeStream{}, newFakeGateway()
		wait := startWorker(t.Context(), t, s, g)
		for range 20 {
			g.rejectKey(true)
			time.Sleep(12 * time.Second)
			g.rejectKey(false)
			time.Sleep(3 * time.Second)
		}
		s.set(func(s *fakeStream) { s.ended = true })
		if err := wait(); err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}
