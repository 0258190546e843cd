package worker_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Forty workers start at the same instant, as after a restart. Their checks must not stay at
// one instant of the interval of 2 s.
func TestChecksOfWorkersThatStartAtOnceAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, parts = 40, 8
		var mu sync.Mutex
		checks := make([]int, parts) // of each part of the interval
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		var waits []func() error
		for n := range workers {
			s := &fakeStream{analyse: func(context.Context) {
				mu.Lock()
				defer mu.Unlock()
				if passed := time.Since(began); passed > 10*time.Second {
					checks[passed%(2*time.Second)*parts/(2*time.Second)]++
				}
			}}
			waits = append(waits, startWorker(ctx, t, s, newFakeGateway(), func(c *worker.Config) {
				c.ID, c.SpreadChecks = monitor.NewID([16]byte{15: byte(n)}), true
			}))
		}
		time.Sleep(time.Minute)
		stop()
		for _, wait := range waits {
			endsWell(t, wait)
		}
		mu.Lock()
		defer mu.Unlock()
		total := 0
		for _, n := range checks {
			total += n
		}
		if busiest := slices.Max(checks); total < workers*20 || busiest > 3*total/parts {
			t.Errorf("checks in each part of the interval: %s", fmt.Sprint(checks))
		}
	})
}
