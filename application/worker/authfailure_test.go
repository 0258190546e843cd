package worker_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// lock has a gateway refuse the worker's key, or take it again.
func (d *fakeGateway) lock(locked bool) {
	d.set(func(d *fakeGateway) {
		d.refusal, d.answer = nil, nil
		if locked {
			d.refusal = monitor.Errorf(monitor.Unauthorized, "the key is another one")
			d.answer = func(monitor.Report) (monitor.Order, error) { return "", d.refusal }
		}
	})
}

// INTERNAL_API_KEY may be changed while workers run: whoever starts one anew
// gives it the new key, and that is to happen before it counts as lost.
func TestAWorkerWhoseKeyIsNotTakenAnyMoreEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		lead time.Duration // with the right key
	}{
		{"while it watches", 30 * time.Second},
		{"before it has its assignment", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, d := &stream{}, newFakeGateway()
				d.lock(c.lead == 0)
				began := time.Now().Add(c.lead)
				wait := watching(t.Context(), t, s, d)
				time.Sleep(c.lead)
				d.lock(true)
				if err := wait(); !errors.Is(err, worker.ErrKeyRejected) {
					t.Errorf("ended with %v", err)
				}
				if took := time.Since(began); took < 15*time.Second || took > 20*time.Second {
					t.Errorf("took %s, want 15 s and a try", took)
				}
			})
		})
	}

	t.Run("but not while gateways that are replaced one by one disagree", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, d := &stream{}, newFakeGateway()
			wait := watching(t.Context(), t, s, d)
			for range 20 {
				d.lock(true)
				time.Sleep(12 * time.Second)
				d.lock(false)
				time.Sleep(3 * time.Second)
			}
			s.set(func(s *stream) { s.ended = true })
			if err := wait(); err != nil {
				t.Errorf("ended with %v", err)
			}
		})
	})
}
