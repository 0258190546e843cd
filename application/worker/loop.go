package worker

import (
	"context"
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/capture"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// loop is one run of a worker: it passes the outcomes of tasks to the watcher, and the
// watcher's effects to the reporter. Its methods run on one goroutine.
type loop struct {
	*Worker
	watcher  *watch.Watcher
	recorder *recorder
	reporter *reporter
	force    context.Context // when it is done, the worker ends at once

	lanes     *lanes
	revisions *revisionFollower
	revision  int // of the assignment that the watcher goes by

	closeMedia func()

	captures  capture.Tracker // of evidence
	collector *collector.Collector

	reportedAt time.Time // the At of the newest report
	adoptedAt  time.Time // when the configuration was changed; no check was due before because of it
}

// run runs the loop until the worker ends. It waits for the lanes and the reporter.
func (l *loop) run(ctx context.Context) error {
	defer l.revisions.start(l.reporter.endWorker)() // before the first answer
	l.reporter.start()

	var deadline time.Time
	err := recoverPanic(l.log, "watching", func() error {
		l.reporter.add(l.state())
		if err := l.watch(ctx); err != nil {
			return err
		}
		deadline = time.Now().Add(shutdownTimeout)
		return l.finishTasks(deadline)
	})
	if err != nil {
		return l.abort(err)
	}
	l.collector.Add(l.captures.Finish()...)
	// Only a worker that was not asked to stop waits for the gateway and for evidence. After
	// each wait shutdownTimeout begins again.
	if ctx.Err() == nil && l.reporter.outstanding() {
		l.reporter.flush(ctx)
		deadline = time.Now().Add(shutdownTimeout)
	}
	if ctx.Err() == nil && !l.watcher.Report().Status.Active() {
		l.collector.Stop(maxEvidenceWait)
		deadline = time.Now().Add(shutdownTimeout)
	}
	l.collector.Stop(min(stoppedEvidenceWait, time.Until(deadline)/2))
	err = l.reporter.stop(time.Until(deadline))
	if l.force.Err() != nil {
		return ErrForced
	}
	if err == nil {
		l.log.Info("Monitoring ended", "status", string(l.watcher.Report().Status))
	}
	return err
}

// Limits of the wait of an ending worker for evidence that is being captured.
const (
	maxEvidenceWait     = 20 * time.Second
	stoppedEvidenceWait = 3 * time.Second // the worker was stopped: a quick end is worth more than the evidence
)

// abort ends a worker after an error, and returns that error. A failed worker sends its
// last report; a replaced one sends none.
func (l *loop) abort(cause error) error {
	l.lanes.cancelAndWait()
	l.collector.Stop(0)
	limit := finalReportTimeout
	if isReplaced(cause) || errors.Is(cause, ErrKeyRejected) {
		limit = 0
	}
	_ = l.reporter.stop(limit) // cause is the first error
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
		timer.Reset(max(0, next.Sub(l.clock.now())))
		select {
		case <-timer.C:
			l.followClock()
			if l.wakeDue() {
				l.step(watch.Tick{})
			}
		case o := <-l.lanes.outcomes:
			l.lanes.release(o)
			if o.err != nil {
				return o.err
			}
			l.observe(o)
		case a := <-l.revisions.changed:
			l.adopt(a)
		case o := <-l.reporter.official.loop:
			l.followClock()
			l.step(watch.OfficialState{Status: o.state.Status, AskedAt: l.clock.at(o.askedAt)})
		case i := <-l.reporter.ingest.loop:
			l.followClock()
			l.step(watch.IngestState{NoData: i.state.NoData, AskedAt: l.clock.at(i.askedAt)})
		case <-l.liveness.requests:
		case err := <-l.reporter.workerEnd:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// finishTasks ends the lanes (section 8.3). It waits for a segment being analysed and
// passes its outcome to the watcher. It cancels every other task.
func (l *loop) finishTasks(deadline time.Time) error {
	l.lanes.cancelExcept(watch.TaskSegment)
	cancelLate := time.AfterFunc(time.Until(deadline)-5*time.Second, l.lanes.canceller())
	defer cancelLate.Stop()
	for l.lanes.busy() {
		o := <-l.lanes.outcomes
		l.lanes.release(o)
		switch {
		case l.force.Err() != nil:
		case o.err != nil:
			return o.err
		case o.task.Kind == watch.TaskSegment:
			l.observe(o)
		}
	}
	return nil
}

// startDueTasks starts every due task whose lane is idle. next is when another task is due
// in an idle lane, or the clock is to be checked. more is false when the watcher has no task
// any more.
func (l *loop) startDueTasks() (next time.Time, more bool) {
	tasks := l.watcher.Next()
	now := l.clock.now()
	l.lanes.raise(l.watcher.Urgency(now)) // the question may wait, and more may have happened since it was asked
	next = now.Add(clockCheckInterval)
	for _, t := range tasks {
		lane := t.Kind.Lane()
		switch {
		case lane != watch.LaneTimer && !l.lanes.idle(lane): // an outcome comes first
		case lane == watch.LaneTimer || t.At.After(now):
			if t.At.Before(next) {
				next = t.At
			}
		default:
			if t.Kind == watch.TaskPlaylist {
				l.cfg.Delays.record(min(now.Sub(t.At), now.Sub(l.adoptedAt)))
			}
			l.lanes.start(t)
		}
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

// observe passes the outcome of a task to the watcher. It gives the start of the task by
// the present clock, even if the clock was set during the task.
func (l *loop) observe(o outcome) {
	l.followClock()
	began := l.clock.at(o.began)
	if a, isAnalysis := o.observation.(watch.Analysis); isAnalysis && len(a.Measures) > 0 {
		l.reporter.addMeasures(measuredFrom(o.task.Segment, began), o.task.Segment.Duration, a.Measures)
	}
	l.step(withBegan(o.observation, began))
}

// maxProgramTimeOffset is how far program time may be from the clock to date
// measurements. The encoder of a stream states any program time.
const maxProgramTimeOffset = 10 * time.Minute

// measuredFrom returns the time of a segment's first frame in the history: its program
// time, or the time at which its analysis began less its duration.
func measuredFrom(s watch.Segment, began time.Time) time.Time {
	if offset := began.Sub(s.ProgramTime.Add(s.Duration)); offset.Abs() <= maxProgramTimeOffset {
		return s.ProgramTime
	}
	return began.Add(-s.Duration)
}

// adopt goes on by a changed configuration (section 16.6). A task that runs already ends
// by the old one.
func (l *loop) adopt(a monitor.Assignment) {
	l.followClock()
	l.adoptedAt = l.clock.now()
	l.lanes.runner.setting, l.lanes.runner.cookies, l.lanes.runner.secret = a.Config.Value, l.newCookies(a), a.Secret
	l.log.Info("Monitoring goes on by a changed configuration", "revision", a.Revision)
	l.revision = a.Revision
	l.step(watch.RulesChanged{Rules: l.rules(a)})
	if l.watcher.Report().Paused {
		l.lanes.canceller()()
		l.collector.Add(l.captures.Pause()...)
	}
}

// followClock adopts a changed wall clock and passes the step to the watcher.
func (l *loop) followClock() {
	if step := l.clock.follow(); step != 0 {
		l.adoptedAt = l.adoptedAt.Add(step)
		l.step(watch.ClockStep{By: step})
	}
}

// step passes an observation to the watcher. It records, logs and reports the effects.
func (l *loop) step(o watch.Observation) {
	now := l.clock.now()
	effects := l.watcher.Step(now, o)
	l.recorder.record(watch.RecordedStep{At: now, Observation: o, Effects: effects})

	var events []event.Event
	var signals []monitor.Signal
	for _, e := range effects {
		switch e := e.(type) {
		case watch.EventEmitted:
			e.Event.ID = l.cfg.NewEventID()
			events = append(events, e.Event)
			if !e.Event.IsBlindness() { // of which the watcher also logs a warning with more detail
				l.log.Info("Event", "event_type", string(e.Event.Type), "event_id", e.Event.ID, "event", e.Event.Data)
			}
		case watch.SignalEmitted:
			signals = append(signals, e.Signal)
		case watch.LogEntry:
			l.writeLogEntry(e)
		}
	}
	report := l.state()
	report.Events, report.Signals = events, signals
	if len(effects) > 0 {
		l.reporter.add(report)
	} else {
		l.reporter.refresh(report)
	}
	if l.ports.Evidence.Store != nil {
		l.collector.Add(l.captures.Step(now, capture.Input{
			Observation: o, Media: l.watcher.Media(), Open: l.watcher.OpenConditions(), Events: events, Signals: signals,
			SilenceDB: l.lanes.runner.setting(detector.SilenceDB), Others: l.watcher.OtherRenditions(),
		})...)
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

// state returns the watcher's state as a report without events. It has a snapshot if the
// next worker needs a newer one.
func (l *loop) state() monitor.Report {
	r := l.watcher.Report()
	r.Generation, r.Revision, r.At = l.cfg.Generation, l.revision, l.reportTime(r.Status)
	snapshot, err := l.watcher.SnapshotIfDue()
	if err != nil {
		l.log.Error("The worker could not make a snapshot; the next worker would start without one", "error", err)
	}
	r.Snapshot = snapshot
	return r
}

// reportTime returns the time of a report. After the clock was set back by less than 30
// minutes, the gateway would take a new report for an overtaken one
// (monitor.Report.Overtaken). So reports repeat the newest time until the clock reaches
// it again. The gateway never takes the report of a final status for an overtaken one.
func (l *loop) reportTime(status monitor.Status) time.Time {
	now := l.clock.now()
	if back := l.reportedAt.Sub(now); status.Active() && back > 0 && back < monitor.MaxOvertaken {
		return l.reportedAt
	}
	l.reportedAt = now
	return now
}
