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
	noAction   action = iota // the worker runs, or there is nothing left to do
	launch                   // start a worker of the newest generation
	stop                     // end the worker
	handleLoss               // find out whether a lost worker is still needed, and replace it
)

// command asks for a change of one worker.
type command struct {
	id            monitor.ID
	spec          *WorkerSpec // launch this worker
	loss          *workerLoss // handle this loss; if spec is nil too, the command is a stop
	maxGeneration int         // a stop leaves a newer worker alone; 0: stop any
}

// workerState holds the actions for one monitor's worker. It exists from the first command
// until the monitor needs no worker any more. Only WorkerManager.Run changes it.
type workerState struct {
	spec     WorkerSpec         // of the newest launch command; zero if this gateway got none
	next     action             // begins when the current action has ended
	current  action             // under way
	cancel   context.CancelFunc // ends the current action early
	loss     workerLoss         // the loss for handleLoss
	stopping bool               // the newest command is a stop, so the worker's exit is expected
}

// apply sets the next action from a command. It returns false when the command
// changes nothing.
func (w *workerState) apply(c command) bool {
	switch {
	case c.loss != nil:
		if w.stopping || w.current != noAction || w.spec.Generation > c.loss.generation {
			c.loss.done(leftUnchanged, nil)
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

// exited makes the handling of a loss the next action. It returns false for an
// expected exit: after a stop, or of a worker that a newer generation has replaced.
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

// takeNextAction makes the next action the current one and returns it. While another
// action is under way it returns noAction and cancels that action. It does not cancel
// a stop for a second stop.
func (w *workerState) takeNextAction(cancel context.CancelFunc) action {
	switch {
	case w.current == noAction:
		w.current, w.next, w.cancel = w.next, noAction, cancel
		return w.current
	case w.current == stop && w.next == stop:
		w.next = noAction
	default:
		w.cancel()
	}
	return noAction
}

// launching reports whether a launch is next or under way.
func (w *workerState) launching() bool { return w.next == launch || w.current == launch }
