package worker

import (
	"context"
	"errors"
	"sync/atomic"
)

// loopLiveness lets a probe check whether a worker's loop hangs.
type loopLiveness struct {
	running  *atomic.Bool
	requests chan struct{} // Alive sends, and the loop receives; never closed
}

func newLoopLiveness() loopLiveness {
	return loopLiveness{running: new(atomic.Bool), requests: make(chan struct{})}
}

// start marks the loop as running until end is called.
func (l loopLiveness) start() (end func()) {
	l.running.Store(true)
	return func() { l.running.Store(false) }
}

// Alive returns nil when the worker's loop answers before ctx is done. It also returns nil
// before the loop starts and after it has ended, because every wait outside the loop has
// a limit. Alive may be called concurrently, and before Run.
func (w *Worker) Alive(ctx context.Context) error {
	if !w.liveness.running.Load() {
		return nil
	}
	select {
	case w.liveness.requests <- struct{}{}:
		return nil
	case <-ctx.Done():
		if !w.liveness.running.Load() {
			return nil // the loop has ended meanwhile
		}
		return errors.New("the worker's loop hangs: it did not answer in time")
	}
}

// Ready returns nil while the worker has its assignment and monitors the stream.
func (w *Worker) Ready(context.Context) error {
	if w.liveness.running.Load() {
		return nil
	}
	return errors.New("the worker does not monitor the stream: it has no assignment yet, or it is ending")
}
