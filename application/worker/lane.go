package worker

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// lane runs tasks of one kind, one at a time (decision S16).
type laneState struct {
	busy   bool
	kind   watch.TaskKind
	cancel context.CancelFunc
}

// outcome is what a task ended with.
type outcome struct {
	lane        watch.Lane
	began       time.Time // with its monotonic reading
	observation watch.Observation
	err         error // ends the worker: the task panicked
}

// startTask starts a task in its lane.
func (l *loop) startTask(t watch.Task) {
	ctx, cancel := context.WithCancel(l.force)
	at := t.Kind.Lane()
	l.lanes[at] = laneState{busy: true, kind: t.Kind, cancel: cancel}
	go func() {
		defer cancel()
		o := outcome{lane: at, began: time.Now(), err: errNoOutcome}
		defer func() { l.outcomes <- o }()
		o.err = recoverPanic(l.log, "task "+string(t.Kind), func() error {
			o.observation = l.runTask(ctx, t)
			return nil
		})
	}()
}

// drain ends the lanes (section 8.3). A segment being analysed is finished and
// counts; every other task is cancelled.
func (l *loop) drain(deadline time.Time) error {
	for i := range l.lanes {
		if l.lanes[i].busy && l.lanes[i].kind != watch.TaskSegment {
			l.lanes[i].cancel()
		}
	}
	force := time.AfterFunc(time.Until(deadline)-5*time.Second, l.cancelLanes())
	defer force.Stop()
	for l.busy() {
		o := <-l.outcomes
		analysed := l.lanes[o.lane].kind == watch.TaskSegment
		l.lanes[o.lane] = laneState{}
		switch {
		case l.force.Err() != nil:
		case o.err != nil:
			return o.err
		case analysed:
			l.observe(o)
		}
	}
	return nil
}

// cancelTasks cancels what is in flight and waits for it.
func (l *loop) cancelTasks() {
	l.cancelLanes()()
	for l.busy() {
		o := <-l.outcomes
		l.lanes[o.lane] = laneState{}
	}
}

func (l *loop) cancelLanes() func() {
	var cancels []context.CancelFunc
	for _, lane := range l.lanes {
		if lane.busy {
			cancels = append(cancels, lane.cancel)
		}
	}
	return func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
}

func (l *loop) busy() bool { return l.lanes[watch.LaneResolve].busy || l.lanes[watch.LaneMedia].busy }
