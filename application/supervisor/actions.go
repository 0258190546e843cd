package supervisor

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// result is what one try of a task has led to.
type result struct {
	task    *task
	err     error            // the try has failed
	monitor *monitor.Monitor // its worker is to be launched
	outcome outcome
}

// actions tries tasks. Its methods block and may be called concurrently for different
// monitors.
type actions struct {
	store        Store
	launcher     Launcher
	runtimeID    string
	cfg          Config
	shuttingDown *atomic.Bool
}

// try does a task once.
func (a *actions) try(ctx context.Context, t *task) (r result) {
	timeout := exchangeTimeout
	switch t.kind {
	case launch:
		timeout = launchAttemptTimeout
	case stop:
		timeout = 0 // Launcher.Stop has its own
	case promote, replace, giveUp, checkOrphan:
	}
	r.err = attempt(ctx, timeout, func(ctx context.Context) (err error) {
		switch t.kind {
		case promote:
			r.outcome, r.monitor, err = a.promote(ctx, t)
		case launch:
			err = a.launch(ctx, t.monitor)
		case stop:
			err = a.launcher.Stop(ctx, t.id)
		case replace:
			r.outcome, r.monitor, err = a.replace(ctx, t)
		case giveUp:
			r.outcome, err = a.giveUp(ctx, t)
		case checkOrphan:
			r.outcome, err = a.checkOrphan(ctx, t)
		}
		return err
	})
	r.task = t
	return r
}

// promote turns a claimed reservation into a monitor whose worker is to be launched. It
// does nothing if another gateway has claimed it meanwhile, or if it has ended. After another
// error the promotion may have been stored, and then only this gateway knows that the
// worker must start.
func (a *actions) promote(ctx context.Context, t *task) (outcome, *monitor.Monitor, error) {
	log := a.cfg.Log.With("monitor_id", string(t.id), "generation", t.generation)
	m, err := a.store.Promote(ctx, Reservation{ID: t.id, Generation: t.generation, HandedOver: t.handedOver}, a.runtimeID)
	var refusal *monitor.Error
	switch {
	case errors.Is(err, monitor.ErrSuperseded), errors.As(err, &refusal):
		log.Debug("reservation not promoted", "reason", err.Error())
		return leftUnchanged, nil, nil
	case err != nil:
		return leftUnchanged, nil, err
	case t.handedOver:
		log.Info("monitor resumed after its gateway stopped, its worker is launched")
		return resumed, &m, nil
	case m.Status == monitor.Waiting:
		log.Info("reservation promoted")
	default: // the operator made no reservation
		log.Debug("registered monitor gets its worker")
	}
	return promoted, &m, nil
}

func (a *actions) launch(ctx context.Context, m monitor.Monitor) error {
	err := a.launcher.Launch(ctx, WorkerSpec{
		ID:          m.ID,
		Generation:  m.Generation,
		StreamURL:   m.StreamURL,
		CallbackURL: m.CallbackURL,
		Config:      m.Config,
	})
	if err == nil {
		a.cfg.Log.Debug("worker launched", "monitor_id", string(m.ID), "generation", m.Generation)
	}
	return err
}

// find reads the monitor of a task. current reports that it is active and that the task's
// generation is its newest.
func (a *actions) find(ctx context.Context, t *task) (m monitor.Monitor, current bool, err error) {
	m, err = a.store.Get(ctx, t.id)
	if isNotCurrent(err) {
		return m, false, nil
	}
	return m, m.Status.Active() && m.Generation == t.generation, err
}

// giveUp ends a monitor whose worker cannot be launched.
func (a *actions) giveUp(ctx context.Context, t *task) (outcome, error) {
	m, current, err := a.find(ctx, t)
	if err != nil || !current {
		return leftUnchanged, err
	}
	return a.failMonitor(ctx, m, t.loss)
}

// checkOrphan finds out whether a worker's monitor has ended, is a reservation or does not
// exist. A monitor that was registered after the monitors were listed keeps its worker.
func (a *actions) checkOrphan(ctx context.Context, t *task) (outcome, error) {
	m, err := a.store.Get(ctx, t.id)
	found := zombie
	switch {
	case isNotCurrent(err):
		found = orphan
	case err != nil:
		return leftUnchanged, err
	case m.Status.Active() && m.ReservedUntil.IsZero():
		return leftUnchanged, nil
	}
	a.cfg.Log.Warn("an orphaned worker is ended: its monitor has ended, is reserved or is not in this database",
		"monitor_id", string(t.id), "generation", t.generation)
	return found, nil
}

// replace finds out whether a lost worker is still needed, and follows the policy of decision
// O3 if it is. It does nothing after BeginShutdown: then Handover releases the monitor.
func (a *actions) replace(ctx context.Context, t *task) (outcome, *monitor.Monitor, error) {
	if t.loss.pendingOutcome != leftUnchanged {
		return a.advance(ctx, t)
	}
	m, current, err := a.find(ctx, t)
	if err != nil || !current || t.loss.reportedSince(m) || a.shuttingDown.Load() {
		return leftUnchanged, nil, err
	}
	if t.loss.missing { // the list that lacks it may be old
		if runs, err := a.launcher.Runs(ctx, t.id, t.generation); err != nil || runs {
			return leftUnchanged, nil, err
		}
	}
	decided, cause := t.loss.decide(m, a.cfg.MissingWorker)
	if decided == failed {
		decided, err = a.failMonitor(ctx, m, cause)
		return decided, nil, err
	}
	t.loss.pendingOutcome = decided // the next try of the task needs it
	return a.advance(ctx, t)
}

// advance stores the next generation. After an error the caller must repeat advance
// itself. If the new generation was stored, find would conclude that another gateway has
// handled the loss.
func (a *actions) advance(ctx context.Context, t *task) (outcome, *monitor.Monitor, error) {
	next, err := a.store.AdvanceGeneration(ctx, t.id, t.generation, a.runtimeID)
	switch {
	case isNotCurrent(err):
		return leftUnchanged, nil, nil
	case err != nil:
		return leftUnchanged, nil, err
	}
	a.cfg.Log.Warn("worker lost, another one is launched", "monitor_id", string(t.id), "generation", next.Generation, "lost", t.loss.details)
	return t.loss.pendingOutcome, &next, nil
}

// failMonitor ends a monitor with status error and a last monitor.error event. For a
// missing worker, the event contains the result of the comparison (section 10.4).
func (a *actions) failMonitor(ctx context.Context, m monitor.Monitor, loss workerLoss) (outcome, error) {
	failure := event.MonitorFailure{Reason: loss.reason, ErrorDetails: truncate(loss.details), Terminal: true}
	if loss.reason == event.ReasonMismatch {
		failure.ReconciliationAction = "mark_as_error_missing_pod" // the value of section 10.4, also for processes
		failure.PreviousStatus = string(m.Status)
		failure.ObservedState = &event.ObservedState{PodExists: false, DBStatus: string(m.Status)}
	}
	err := a.store.Fail(ctx, m, loss.reason, event.Event{
		ID: a.cfg.NewEventID(), Type: event.MonitorError, At: a.cfg.Now(), Data: failure,
	})
	switch {
	case isNotCurrent(err):
		return leftUnchanged, nil
	case err != nil:
		return leftUnchanged, err
	}
	a.cfg.Log.Error("monitor given up, its stream is not watched any more: correct the cause that error_details names and register the stream again",
		"monitor_id", string(m.ID), "generation", m.Generation, "reason", loss.reason, "error_details", failure.ErrorDetails)
	return failed, nil
}
