package worker

import (
	"context"
	"errors"
	"sync/atomic"
)

// loopLiveness lets a probe check whether a worker's loop still runs.
type loopLiveness struct {
	running *atomic.Bool
	ping    chan struct{} // the loop receives from it; never closed
}

func newLoopLiveness() loopLiveness {
	return loopLiveness{running: new(atomic.Bool), ping: make(chan struct{})}
}

// start is called when the loop starts; the function that it returns, when it ends.
func (l loopLiveness) start() (end func()) {
	l.running.Store(true)
	return func() { l.running.Store(false) }
}

// Alive returns nil when the worker's loop answers before ctx is done. Before the
// loop starts and after it has ended, the worker counts as alive: all that it waits
// for then has a limit. Alive may be called concurrently, and before Run.
func (w *Worker) Alive(ctx context.Context) error {
	if !w.liveness.running.Load() {
		return nil
	}
	select {
	case w.liveness.ping <- struct{}{}:
		return nil
	case <-ctx.Done():
		if !w.liveness.running.Load() {
			return nil // it ended meanwhile
		}
		return errors.New("the worker's loop does not run: it did not answer in time")
	}
}

// Ready returns nil while the worker has its assignment and watches.
func (w *Worker) Ready(context.Context) error {
	if w.liveness.running.Load() {
		return nil
	}
	return errors.New("the worker does not watch yet, or no more: it waits for its assignment, or ends")
}
