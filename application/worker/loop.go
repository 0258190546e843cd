package worker

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// loop is one run of a worker.
type loop struct {
	*Worker
	stream   monitor.StreamURL
	silence  float64 // dBFS
	watcher  *watch.Watcher
	recorder *recorder
	reporter *reporter

	lanes    [watch.Clock]lane // resolving, media
	outcomes chan outcome      // never closed; the loop waits for every lane before it returns
}

// lane is where tasks of one kind are done, one at a time.
type lane struct {
	busy   bool
	kind   watch.Kind
	cancel context.CancelFunc
}

// outcome is what a lane brings back.
type outcome struct {
	lane        watch.Lane
	observation watch.Observation
}

// run is the loop. It owns the lanes and the reporter and waits for them.
func (l *loop) run(ctx context.Context) error {
	l.outcomes = make(chan outcome)
	l.report(nil) // nothing is sent before there is something to say
	l.reporter.start()

	err := l.watch(ctx)
	if err != nil {
		l.abandon()
		l.reporter.stop(0)
		return err
	}
	deadline := time.Now().Add(l.cfg.Shutdown)
	l.drain(deadline)
	if ctx.Err() == nil && l.reporter.outstanding() {
		// The stream is over and nobody hurries: what happened must arrive.
		l.reporter.flush(ctx)
		deadline = time.Now().Add(l.cfg.Shutdown)
	}
	l.reporter.stop(time.Until(deadline))
	l.log.Info("Watching ends", "status", string(l.watcher.Report().Status))
	return nil
}

// watch does the tasks until the watcher finishes, the gateway wants a stop,
// or ctx is done; its error is that of a worker dismissed.
func (l *loop) watch(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, more := l.begin()
		if !more {
			return nil
		}
		timer.Reset(max(0, next.Sub(l.now())))
		select {
		case <-timer.C:
			if next, due := l.wake(); due {
				l.step(next)
			}
		case o := <-l.outcomes:
			l.lanes[o.lane] = lane{}
			l.step(o.observation)
		case err := <-l.reporter.verdict:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// begin begins every due task whose lane is idle, and tells when the next one
// is due; more is false when nothing is left to do.
func (l *loop) begin() (next time.Time, more bool) {
	tasks := l.watcher.Next()
	now := l.now()
	for _, t := range tasks {
		idle := t.Kind.Lane() == watch.Clock || !l.lanes[t.Kind.Lane()].busy
		if !idle {
			continue
		}
		if t.Kind.Lane() != watch.Clock && !t.At.After(now) {
			l.launch(t)
			continue
		}
		if next.IsZero() || t.At.Before(next) {
			next = t.At
		}
	}
	if next.IsZero() {
		next = now.Add(time.Hour) // only an outcome can bring anything
	}
	return next, len(tasks) > 0
}

// wake is the observation that time has come for something, if it has.
func (l *loop) wake() (watch.Observation, bool) {
	for _, t := range l.watcher.Next() {
		if t.Kind == watch.TaskWake && !t.At.After(l.now()) {
			return watch.Tick{}, true
		}
	}
	return nil, false
}

// launch begins a task in its lane.
func (l *loop) launch(t watch.Task) {
	ctx, cancel := context.WithCancel(context.Background())
	at := t.Kind.Lane()
	l.lanes[at] = lane{busy: true, kind: t.Kind, cancel: cancel}
	go func() {
		defer cancel()
		l.outcomes <- outcome{at, l.do(ctx, t)}
	}()
}

// step lets the watcher see an observation and carries out what follows.
func (l *loop) step(o watch.Observation) {
	now := l.now()
	effects := l.watcher.Step(now, o)
	l.recorder.record(watch.Moment{At: now, Observation: o, Effects: effects})

	var events []event.Event
	tell := false
	for _, e := range effects {
		switch e := e.(type) {
		case watch.Emit:
			e.Event.ID = l.cfg.NewEventID()
			events = append(events, e.Event)
			l.log.Info("Event", "event_type", string(e.Event.Type), "event_id", e.Event.ID, "event", e.Event.Data)
		case watch.Note:
			l.note(e)
		case watch.Become, watch.Health, watch.Finish:
			tell = true
		}
	}
	if tell || len(events) > 0 {
		l.report(events)
	}
}

func (l *loop) note(n watch.Note) {
	args := make([]any, 0, 2*len(n.Data))
	for k, v := range n.Data {
		args = append(args, k, v)
	}
	if n.Warn {
		l.log.Warn(n.Message, args...)
	} else {
		l.log.Info(n.Message, args...)
	}
}

// report hands the present state and new events to the reporter.
func (l *loop) report(events []event.Event) {
	r := l.watcher.Report()
	r.Generation, r.At, r.Events = l.cfg.Generation, l.now(), events
	snapshot, err := l.watcher.Snapshot()
	if err != nil {
		l.log.Error("No snapshot could be made; a successor would start afresh", "error", err)
	}
	r.Snapshot = snapshot
	l.reporter.add(r)
}

// drain ends the lanes as section 8.3 says: a segment being analysed is
// finished and counts, all else is broken off.
func (l *loop) drain(deadline time.Time) {
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
		if analysed {
			l.step(o.observation)
		}
	}
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

func (l *loop) busy() bool { return l.lanes[watch.Resolving].busy || l.lanes[watch.Media].busy }
