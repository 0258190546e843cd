package worker_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A thousand inline workers share a process.
func TestAWorkerBetweenTwoChecksHasFourGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 20
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(t.Context())
		var waits []func() error
		for range workers {
			waits = append(waits, startWorker(ctx, t, &fakeStream{}, newFakeGateway()))
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		// The loop, the reporter, and those that wait for a revision and for evidence.
		if n := runtime.NumGoroutine() - before; n > 4*workers {
			t.Errorf("%d goroutines of %d workers", n, workers)
		}
		cancel()
		for _, wait := range waits {
			if err := wait(); err != nil {
				t.Error(err)
			}
		}
	})
}
