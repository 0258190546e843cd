package worker

import (
	"context"
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// loop is one run of a worker. Its methods run on one goroutine, except runTask.
type loop struct {
	*Worker
	stream   monitor.StreamURL
	setting  func(field string) float64 // of the registration
	watcher  *watch.Watcher
	recorder *recorder
	reporter *reporter
	force    context.Context // when it is done, every task is cancelled

	reportedAt time.Time                  // the At of the newest report
	lanes      [watch.LaneTimer]laneState // resolving, media
	outcomes   chan outcome               // never closed; the loop waits for every lane before it returns
}

// run is the loop. It owns the lanes and the reporter and waits for them.
func (l *loop) run(ctx context.Context) error {
	l.outcomes = make(chan outcome)
	l.reporter.start()

	var deadline time.Time
	err := recoverPanic(l.log, "watching", func() error {
		l.reporter.add(l.state())
		if err := l.watch(ctx); err != nil {
			return err
		}
		deadline = time.Now().Add(l.cfg.ShutdownTimeout)
		return l.drain(deadline)
	})
	if err != nil {
		return l.abort(err)
	}
	if ctx.Err() == nil && l.reporter.outstanding() {
		// The stream has ended: wait until the gateway has accepted every event.
		l.reporter.flush(ctx)
		deadline = time.Now().Add(l.cfg.ShutdownTimeout)
	}
	err = l.reporter.stop(time.Until(deadline))
	if l.force.Err() != nil {
		return ErrForced
	}
	if err == nil {
		l.log.Info("Monitoring ended", "status", string(l.watcher.Report().Status))
	}
	return err
}

// abort ends a worker that must not or cannot continue, and returns cause.
func (l *loop) abort(cause error) error {
	l.cancelTasks()
	limit := finalReportTimeout
	if isReplaced(cause) || errors.Is(cause, ErrGatewayGone) || errors.Is(cause, ErrKeyRejected) {
		limit = 0
	}
	_ = l.reporter.stop(limit) // cause came first
	return cause
}

// watch runs the tasks until the watcher finishes, the gateway orders a stop, or ctx
// is done. Errors: the one that ended the reporter; a task panicked.
func (l *loop) watch(ctx context.Context) error {
	defer l.liveness.start()()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, more := l.startDueTasks()
		if !more {
			return nil
		}
		timer.Reset(min(max(0, next.Sub(l.clock.now())), clockCheckInterval))
		select {
		case <-timer.C:
			l.followClock()
			if l.wakeDue() {
				l.step(watch.Tick{})
			}
		case o := <-l.outcomes:
			l.lanes[o.lane] = laneState{}
			if o.err != nil {
				return o.err
			}
			l.observe(o)
		case <-l.liveness.ping:
		case err := <-l.reporter.result:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// startDueTasks starts every due task whose lane is idle and returns when the next
// one is due. more is false when nothing is left to do.
func (l *loop) startDueTasks() (next time.Time, more bool) {
	tasks := l.watcher.Next()
	now := l.clock.now()
	for _, t := range tasks {
		idle := t.Kind.Lane() == watch.LaneTimer || !l.lanes[t.Kind.Lane()].busy
		if !idle {
			continue
		}
		if t.Kind.Lane() != watch.LaneTimer && !t.At.After(now) {
			l.startTask(t)
			continue
		}
		if next.IsZero() || t.At.Before(next) {
			next = t.At
		}
	}
	if next.IsZero() {
		next = now.Add(time.Hour) // the next event is an outcome
	}
	return next, len(tasks) > 0
}

// wakeDue reports whether a TaskWake of the watcher is due.
func (l *loop) wakeDue() bool {
	for _, t := range l.watcher.Next() {
		if t.Kind == watch.TaskWake && !t.At.After(l.clock.now()) {
			return true
		}
	}
	return false
}

// observe passes the outcome of a task to the watcher. If the clock was set meanwhile,
// the start of the task is given by the new clock.
func (l *loop) observe(o outcome) {
	l.followClock()
	l.step(withBegan(o.observation, l.clock.at(o.began)))
}

// followClock adopts a wall clock that was set, and passes the step to the watcher.
func (l *loop) followClock() {
	if step := l.clock.follow(); step != 0 {
		l.step(watch.ClockStep{By: step})
	}
}

// step passes an observation to the watcher and applies the effects.
func (l *loop) step(o watch.Observation) {
	now := l.clock.now()
	effects := l.watcher.Step(now, o)
	l.recorder.record(watch.RecordedStep{At: now, Observation: o, Effects: effects})

	var events []event.Event
	for _, e := range effects {
		switch e := e.(type) {
		case watch.EventEmitted:
			e.Event.ID = l.cfg.NewEventID()
			events = append(events, e.Event)
			if e.Event.IsBlindness() {
				break // the watcher logs a warning that says more
			}
			l.log.Info("Event", "event_type", string(e.Event.Type), "event_id", e.Event.ID, "event", e.Event.Data)
		case watch.LogEntry:
			l.writeLogEntry(e)
		}
	}
	report := l.state()
	if report.Events = events; len(effects) > 0 {
		l.reporter.add(report)
	} else {
		l.reporter.refresh(report)
	}
}

func (l *loop) writeLogEntry(e watch.LogEntry) {
	args := make([]any, 0, 2*len(e.Data))
	for k, v := range e.Data {
		args = append(args, k, v)
	}
	if e.Warn {
		l.log.Warn(e.Message, args...)
	} else {
		l.log.Info(e.Message, args...)
	}
}

// state returns the watcher's state as a report without events.
func (l *loop) state() monitor.Report {
	r := l.watcher.Report()
	visibility := monitor.Visibility(l.watcher.Visibility())
	r.Visibility = &visibility
	r.Generation, r.At = l.cfg.Generation, l.reportTime(r.Status)
	snapshot, err := l.watcher.Snapshot()
	if err != nil {
		l.log.Error("No snapshot could be made; a successor would start without it", "error", err)
	}
	r.Snapshot = snapshot
	return r
}

// reportTime returns the time of a report. When the clock is set back by less than 30
// minutes, new reports would count as overtaken by those before the step
// (monitor.Report.Overtaken). They carry the newest time until the clock reaches it
// again. A report of the end is never overtaken.
func (l *loop) reportTime(status monitor.Status) time.Time {
	now := l.clock.now()
	if back := l.reportedAt.Sub(now); status.Active() && back > 0 && back < monitor.MaxOvertaken {
		return l.reportedAt
	}
	l.reportedAt = now
	return now
}
