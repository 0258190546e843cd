package supervisor

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// actionRunner does what one worker needs: a launch with its retries, a stop, or
// the handling of a loss. Its methods block and may be called concurrently for
// different monitors.
type actionRunner struct {
	store        MonitorStore
	launcher     Launcher
	cfg          Config
	log          *slog.Logger
	launchSlots  chan struct{} // holds a value for each launch under way
	relaunches   *relaunchHistory
	shuttingDown *atomic.Bool
	startWorker  func(monitor.Monitor) // enqueues the launch of the next generation
}

// actionFunc returns a function that does an action; nil for noAction. That function
// reports whether the monitor needs no worker any more.
func (r *actionRunner) actionFunc(a action, id monitor.ID, state *workerState) func(context.Context) (unneeded bool) {
	switch a {
	case launch:
		spec := state.spec
		return func(ctx context.Context) bool { return r.launch(ctx, spec) }
	case stop:
		return func(ctx context.Context) bool { return r.stop(ctx, id) }
	case handleLoss:
		loss := state.loss
		return func(ctx context.Context) bool { return r.handleLostWorker(ctx, id, loss) }
	case noAction:
	}
	return nil
}

// launch starts a worker. When no try has succeeded for launchTimeout, or for
// relaunchPeriod under the policy Relaunch, the monitor fails.
func (r *actionRunner) launch(ctx context.Context, spec WorkerSpec) (unneeded bool) {
	log := r.log.With("monitor_id", string(spec.ID), "generation", spec.Generation)
	policy := retryPolicy{totalTime: launchTimeout}
	if r.cfg.MissingWorker == Relaunch {
		policy.totalTime = relaunchPeriod
	}
	var launchErr error
	err := retry(ctx, log, policy, "launch the worker", func(ctx context.Context) error {
		launchErr = r.launchOnce(ctx, spec)
		return launchErr
	})
	switch {
	case err == nil:
		log.Debug("worker launched")
		return false
	case ctx.Err() != nil:
		return false
	}
	_ = retry(ctx, log, exchangePolicy, "end a monitor whose worker cannot be launched", func(ctx context.Context) error {
		m, current, err := r.find(ctx, spec.ID, spec.Generation)
		if err == nil && current {
			_, err = r.failMonitor(ctx, m, event.ReasonLaunchFailed, "no worker could be started: "+launchErr.Error(), false)
		}
		return err
	})
	return true
}

// launchOnce waits for a slot and tries once.
func (r *actionRunner) launchOnce(ctx context.Context, spec WorkerSpec) error {
	select {
	case r.launchSlots <- struct{}{}:
		defer func() { <-r.launchSlots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, launchAttemptTimeout)
	defer cancel()
	return r.launcher.Launch(ctx, spec)
}

// stop ends a monitor's worker.
func (r *actionRunner) stop(ctx context.Context, id monitor.ID) (unneeded bool) {
	log := r.log.With("monitor_id", string(id))
	err := retry(ctx, log, retryPolicy{attempts: stopAttempts}, "stop the worker", func(ctx context.Context) error {
		return r.launcher.Stop(ctx, id)
	})
	if ctx.Err() != nil {
		return err == nil
	}
	if err != nil {
		log.Error("worker could not be stopped, the next comparison tries again if it still runs", "error", err.Error())
	}
	return true
}

// find reads a monitor. current reports that it is active and that generation is
// its newest.
func (r *actionRunner) find(ctx context.Context, id monitor.ID, generation int) (m monitor.Monitor, current bool, err error) {
	m, err = r.store.Get(ctx, id)
	if isNotCurrent(err) {
		return m, false, nil
	}
	return m, m.Status.Active() && m.Generation == generation, err
}

// handleLostWorker finds out whether a lost worker is still needed, and follows the
// policy if it is. It handles a missing worker only a few times, because the next
// comparison finds it again (section 10.4). After BeginShutdown it keeps the worker's
// state, so that Handover releases the monitor.
func (r *actionRunner) handleLostWorker(ctx context.Context, id monitor.ID, loss workerLoss) (unneeded bool) {
	if !wait.For(ctx, max(loss.delay, relaunchBackoff(r.relaunches.count(id)))) {
		loss.done(leftUnchanged, ctx.Err())
		return false
	}
	log := r.log.With("monitor_id", string(id))
	result := leftUnchanged
	policy := retryPolicy{attempts: loss.attempts, timeout: exchangeTimeout}
	err := retry(ctx, log, policy, "replace a lost worker", func(ctx context.Context) (err error) {
		if loss.pendingOutcome != leftUnchanged {
			result, err = r.advance(ctx, id, loss)
			return err
		}
		m, current, err := r.find(ctx, id, loss.generation)
		if err != nil || !current || loss.reportedSince(m) || r.shuttingDown.Load() {
			return err
		}
		if loss.missing { // the list that lacks it may be old
			if runs, err := r.launcher.Runs(ctx, id, loss.generation); err != nil || runs {
				return err
			}
		}
		result, err = r.replace(ctx, m, &loss)
		return err
	})
	if err != nil && ctx.Err() == nil {
		log.Error("a lost worker could not be replaced, the next comparison tries again", "error", err.Error())
	}
	loss.done(result, err)
	// A silent worker may belong to another gateway, which releases the monitor itself.
	keep := r.shuttingDown.Load() && loss.seenUpdatedAt.IsZero()
	return ctx.Err() == nil && !keep
}
