package worker

import (
	"context"
	"errors"
	"sync/atomic"
)

// pulse lets others feel whether a worker's loop still turns.
type pulse struct {
	watching *atomic.Bool
	beat     chan struct{} // the loop takes from it; never closed
}

func newPulse() pulse { return pulse{watching: new(atomic.Bool), beat: make(chan struct{})} }

// begin is called when the loop begins to turn, what it returns when it ends.
func (p pulse) begin() (end func()) {
	p.watching.Store(true)
	return func() { p.watching.Store(false) }
}

// Alive asks the worker's loop for a sign of life: nil when it gave one before
// ctx was done. Before and after it has nothing to turn for, and the worker is
// taken to be alive: everything that it waits for then has an end. It may be
// called concurrently, and before Run.
func (w *Worker) Alive(ctx context.Context) error {
	if !w.pulse.watching.Load() {
		return nil
	}
	select {
	case w.pulse.beat <- struct{}{}:
		return nil
	case <-ctx.Done():
		if !w.pulse.watching.Load() {
			return nil // it ended meanwhile
		}
		return errors.New("the worker's loop does not turn")
	}
}

// Ready tells whether the worker has its assignment and watches.
func (w *Worker) Ready(context.Context) error {
	if w.pulse.watching.Load() {
		return nil
	}
	return errors.New("the worker does not watch: it waits for its assignment, or ends")
}
