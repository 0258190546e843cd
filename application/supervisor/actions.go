package supervisor

import (
	"context"
	"log/slog"
	"sync/atomic"

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
	slots        chan struct{} // one for each launch under way
	relaunches   *relaunchHistory
	shuttingDown *atomic.Bool
	start        func(monitor.Monitor) // asks for a worker of the next generation
}

// prepare returns a function that does the action and reports whether the monitor
// needs no worker any more; nil for none.
func (r *actionRunner) prepare(a action, id monitor.ID, state *workerState) func(context.Context) (gone bool) {
	switch a {
	case launch:
		spec := state.spec
		return func(ctx context.Context) bool { return r.launch(ctx, spec) }
	case stop:
		return func(ctx context.Context) bool { return r.stop(ctx, id) }
	case handleLoss:
		loss := state.loss
		return func(ctx context.Context) bool { return r.handleLostWorker(ctx, id, loss) }
	case none:
	}
	return nil
}

// launch starts a worker. When no try has succeeded for launchTimeout, or for
// relaunchPeriod under the policy Relaunch, the monitor fails.
func (r *actionRunner) launch(ctx context.Context, spec WorkerSpec) (gone bool) {
	log := r.log.With("monitor_id", string(spec.ID), "generation", spec.Generation)
	policy := retryPolicy{within: launchTimeout}
	if r.cfg.MissingWorker == Relaunch {
		policy.within = relaunchPeriod
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
	_ = retry(ctx, log, exchange, "end a monitor whose worker cannot be launched", func(ctx context.Context) error {
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
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, launchAttemptTimeout)
	defer cancel()
	return r.launcher.Launch(ctx, spec)
}

// stop ends a monitor's worker.
func (r *actionRunner) stop(ctx context.Context, id monitor.ID) (gone bool) {
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
	if isOutdated(err) {
		return m, false, nil
	}
	return m, m.Status.Active() && m.Generation == generation, err
}

// handleLostWorker finds out whether a lost worker is still needed, and follows the
// policy if it is. A loss that a comparison found is tried a few times only, because
// the next comparison finds it again (section 10.4). After BeginShutdown the state is
// kept, so that the monitor is released.
func (r *actionRunner) handleLostWorker(ctx context.Context, id monitor.ID, loss workerLoss) (gone bool) {
	if !wait(ctx, max(loss.delay, relaunchBackoff(r.relaunches.count(id))), nil) {
		loss.done(noAction, ctx.Err())
		return false
	}
	log := r.log.With("monitor_id", string(id))
	result := noAction
	policy := retryPolicy{attempts: loss.attempts, timeout: exchangeTimeout}
	err := retry(ctx, log, policy, "replace a lost worker", func(ctx context.Context) (err error) {
		if loss.advancing != noAction {
			result, err = r.advance(ctx, id, loss)
			return err
		}
		m, current, err := r.find(ctx, id, loss.generation)
		if err == nil && current && !loss.disproved(m) && !r.shuttingDown.Load() {
			result, err = r.replace(ctx, m, &loss)
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		log.Error("a lost worker could not be replaced, the next comparison tries again", "error", err.Error())
	}
	loss.done(result, err)
	keep := r.shuttingDown.Load() && loss.unchangedSince.IsZero() // a silent worker may be another gateway's
	return ctx.Err() == nil && !keep
}
