package worker

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// lanes runs one task at a time in each lane, on a goroutine of its own (decision S16).
// Only the goroutine of the loop may call its methods.
type lanes struct {
	force    context.Context // when it is done, every task is cancelled
	log      *slog.Logger
	runner   taskRunner // of the tasks that start from now on
	running  [watch.LaneTimer]runningTask
	outcomes chan outcome // never closed; the loop waits for every lane before it returns
}

// runningTask is the task that runs in a lane. The zero value means that none runs.
type runningTask struct {
	kind     watch.TaskKind
	priority *Priority // of a TaskResolve
	cancel   context.CancelFunc
}

// outcome is the result of a task.
type outcome struct {
	task        watch.Task
	began       time.Time // with its monotonic reading
	observation watch.Observation
	err         error // not nil if the task panicked, which ends the worker
}

func newLanes(force context.Context, log *slog.Logger, runner taskRunner) *lanes {
	return &lanes{force: force, log: log, runner: runner, outcomes: make(chan outcome)}
}

// start runs a task in its lane, which must be idle. It sends the outcome to outcomes.
func (l *lanes) start(t watch.Task) {
	ctx, cancel := context.WithCancel(l.force)
	priority := NewPriority(t.Urgency)
	ctx = WithPriority(ctx, priority)
	l.running[t.Kind.Lane()] = runningTask{kind: t.Kind, priority: priority, cancel: cancel}
	runner := l.runner
	go func() {
		defer cancel()
		o := outcome{task: t, began: time.Now(), err: errNoOutcome}
		defer func() { l.outcomes <- o }()
		o.err = recoverPanic(l.log, "task "+string(t.Kind), func() error {
			o.observation = runner.run(ctx, t)
			return nil
		})
	}()
}

// release makes the lane of an outcome idle.
func (l *lanes) release(o outcome) { l.running[o.task.Kind.Lane()] = runningTask{} }

// idle reports whether no task runs in a lane.
func (l *lanes) idle(lane watch.Lane) bool { return l.running[lane].cancel == nil }

// raise makes the question that runs in the resolve lane, if there is one, at least as urgent as u.
func (l *lanes) raise(u watch.Urgency) {
	if running := l.running[watch.LaneResolve]; running.kind == watch.TaskResolve {
		running.priority.Raise(u)
	}
}

// busy reports whether a task runs in any lane.
func (l *lanes) busy() bool {
	return slices.ContainsFunc(l.running[:], func(task runningTask) bool { return task.cancel != nil })
}

// cancelExcept cancels the running tasks of all other kinds.
func (l *lanes) cancelExcept(kind watch.TaskKind) {
	for _, task := range l.running {
		if task.cancel != nil && task.kind != kind {
			task.cancel()
		}
	}
}

// canceller returns a function that cancels the tasks that run now. Any goroutine may
// call that function.
func (l *lanes) canceller() func() {
	running := l.running
	return func() {
		for _, task := range running {
			if task.cancel != nil {
				task.cancel()
			}
		}
	}
}

// cancelAndWait cancels the running tasks and waits for their ends.
func (l *lanes) cancelAndWait() {
	l.canceller()()
	for l.busy() {
		l.release(<-l.outcomes)
	}
}
