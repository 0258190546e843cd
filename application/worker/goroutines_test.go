package worker_test

import (
	"context"
	"math"
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
		time.Sleep(time.Minute)
		fewest := math.MaxInt // a check of some workers may be under way
		for range 20 {
			time.Sleep(time.Second)
			synctest.Wait()
			fewest = min(fewest, runtime.NumGoroutine()-before)
		}
		// The loop, the reporter, and those that wait for a revision and for evidence.
		if fewest > 4*workers {
			t.Errorf("%d goroutines of %d workers", fewest, workers)
		}
		cancel()
		for _, wait := range waits {
			endsWell(t, wait)
		}
	})
}
