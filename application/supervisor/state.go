package supervisor

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// action is something that a WorkerManager does for one worker.
type action int

const (
	none       action = iota // the worker runs, or there is nothing left to do
	launch                   // start a worker of the newest generation
	stop                     // end the worker
	handleLoss               // find out whether a lost worker is still needed, and replace it
)

// command asks for a change of one worker.
type command struct {
	id            monitor.ID
	spec          *WorkerSpec // launch this worker
	loss          *workerLoss // handle this loss; with neither: stop the worker
	maxGeneration int         // of a stop: leave a newer worker alone; 0: stop any
}

// workerState is one worker's life. It exists from the first command until the
// worker is gone for good. Only WorkerManager.Run changes it.
type workerState struct {
	spec     WorkerSpec         // the newest that was asked for; zero if none was asked for here
	next     action             // what to do when the current action has ended
	current  action             // under way
	cancel   context.CancelFunc // ends the current action early
	loss     workerLoss         // what handleLoss is about
	stopping bool               // a stop was asked for, so its exit is expected
}

// apply takes a command up. It returns false when the command changes nothing.
func (w *workerState) apply(c command) bool {
	switch {
	case c.loss != nil:
		if w.stopping || w.current != none || w.spec.Generation > c.loss.generation {
			c.loss.done(noAction, nil)
			return false
		}
		w.spec.Generation = c.loss.generation
		w.loss, w.next = *c.loss, handleLoss
	case c.spec == nil && c.maxGeneration != 0 && c.maxGeneration < w.spec.Generation:
		return false
	case c.spec == nil:
		w.next, w.stopping = stop, true
	case c.spec.Generation <= w.spec.Generation:
		return false
	default:
		w.spec, w.next, w.stopping = *c.spec, launch, false
	}
	return true
}

// exited takes the end of the worker up. It returns false for an end that is
// expected: a stop was asked for, or a newer generation has replaced the worker.
func (w *workerState) exited(e Exit, gracePeriod time.Duration) bool {
	if w.stopping || w.spec.Generation != e.Generation {
		return false
	}
	w.next = handleLoss
	w.loss = workerLoss{
		generation: e.Generation,
		reason:     event.ReasonWorkerLost,
		details:    "the worker's end: " + e.Detail,
		delay:      gracePeriod,
		done:       func(outcome, error) {},
	}
	return true
}

// begin makes the next action the current one and returns it. It returns none
// while another action is under way, which it cancels unless that does the same.
func (w *workerState) begin(cancel context.CancelFunc) action {
	switch {
	case w.current == none:
		w.current, w.next, w.cancel = w.next, none, cancel
		return w.current
	case w.current == stop && w.next == stop:
		w.next = none
	default:
		w.cancel()
	}
	return none
}

// launching reports whether a launch was asked for and has not succeeded yet.
func (w *workerState) launching() bool { return w.next == launch || w.current == launch }
