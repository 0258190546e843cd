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

// start marks the loop as running until end is called.
func (l loopLiveness) start() (end func()) {
	l.running.Store(true)
	return func() { l.running.Store(false) }
}

// Alive returns nil when the worker's loop answers before ctx is done. Before the
// loop starts and after it has ended, the worker counts as alive: every wait has a
// limit then. Alive may be called concurrently, and before Run.
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
		return errors.New("the worker's loop hangs: it did not answer in time")
	}
}

// Ready returns nil while the worker has its assignment and monitors the stream.
func (w *Worker) Ready(context.Context) error {
	if w.liveness.running.Load() {
		return nil
	}
	return errors.New("the worker does not monitor: it waits for its assignment, or it is ending")
}
