package worker

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// lane is where tasks of one kind are done, one at a time.
type lane struct {
	busy   bool
	kind   watch.TaskKind
	cancel context.CancelFunc
}

// outcome is what a lane brings back.
type outcome struct {
	lane        watch.Lane
	began       time.Time // with its monotonic reading
	observation watch.Observation
	err         error // what ends the worker: the task panicked
}

// launch begins a task in its lane.
func (l *loop) launch(t watch.Task) {
	ctx, cancel := context.WithCancel(l.force)
	at := t.Kind.Lane()
	l.lanes[at] = lane{busy: true, kind: t.Kind, cancel: cancel}
	go func() {
		defer cancel()
		o := outcome{lane: at, began: time.Now(), err: errVanished}
		defer func() { l.outcomes <- o }()
		o.err = contained(l.log, "task "+string(t.Kind), func() error {
			o.observation = l.do(ctx, t)
			return nil
		})
	}()
}

// drain ends the lanes as section 8.3 says: a segment being analysed is
// finished and counts, all else is broken off.
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
		l.lanes[o.lane] = lane{}
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

// abandon breaks off whatever is in flight.
func (l *loop) abandon() {
	l.cancelLanes()()
	for l.busy() {
		o := <-l.outcomes
		l.lanes[o.lane] = lane{}
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
