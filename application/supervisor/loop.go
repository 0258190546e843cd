package supervisor

import (
	"context"
	"time"
)

// loop takes what happens one after the other: commands, exits, results of tasks, and what
// was read of monitors and workers. After each it begins what is due. Its goroutine alone uses its
// fields and those of its tasks. It never blocks: other goroutines read the database and ask the
// launcher.
type loop struct {
	*tasks

	observer   *observer
	membership *Membership
	notice     *timeoutNotice // sent if the startup times out

	// The inputs, besides exits and the results of tasks.
	commands *inbox
	observed chan observation
	asked    chan struct{} // Alive sends; never closed
	ended    chan struct{} // closed when the loop ends

	observing     bool      // an observation is under way
	claimAt       time.Time // when reservations are claimed next
	compareAt     time.Time // when monitors and workers are read next, and reservations are claimed, too
	failuresInRow int       // of observations
}

// run takes inputs until ctx is done, and returns when all goroutines of the loop have ended.
func (l *loop) run(ctx context.Context) {
	defer close(l.ended)
	began := time.Now()
	exits := l.launcher.Exits()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-l.asked:
		case <-timer.C:
		case <-l.commands.wake:
		case <-l.membership.due:
			l.compareAt = time.Now()
		case e, open := <-exits:
			if !open {
				exits = nil
			} else {
				l.exited(e)
			}
		case r := <-l.finished:
			l.finish(ctx, r)
		case o := <-l.observed:
			l.takeCommands() // what was claimed or registered meanwhile is not missing
			l.takeObservation(o)
		}
		if ctx.Err() != nil {
			break // begin nothing more
		}
		l.takeCommands()
		l.checkStartup(ctx, time.Since(began))
		pause := min(l.beginDue(ctx), l.beginObservation(ctx))
		if !l.startup.isOver() {
			pause = min(pause, l.cfg.ReconcileTimeout-time.Since(began))
		}
		timer.Reset(pause)
	}
	l.drain(ctx)
	l.checkStartup(ctx, time.Since(began))
}

// drain takes the last results until all goroutines have ended, and the last commands. A
// monitor that was promoted or relaunched at the last moment needs to be handed over.
func (l *loop) drain(ctx context.Context) {
	ended := make(chan struct{})
	go func() { l.running.Wait(); close(ended) }()
	for {
		select {
		case r := <-l.finished:
			l.finish(ctx, r)
		case <-l.observed:
		case <-ended:
			l.takeCommands()
			return
		}
	}
}

// takeCommands orders the tasks that were asked for. One for the same worker as before, or for an
// older one, changes nothing.
func (l *loop) takeCommands() {
	for _, t := range l.commands.take() {
		if w := l.workers[t.id]; t.kind == stop || w == nil || t.generation > w.generation {
			l.order(t)
			if t.kind == promote {
				l.startup.await(t.id)
			}
		}
	}
}

// checkStartup ends the startup when everything is decided, at its deadline, or when ctx is done,
// and logs its results. After the deadline the monitors that are not decided about get an event.
func (l *loop) checkStartup(ctx context.Context, elapsed time.Duration) {
	if l.startup.isOver() {
		return
	}
	complete := l.startup.isComplete(l.runtime.Shared)
	timedOut := !complete && elapsed >= l.cfg.ReconcileTimeout
	if !complete && !timedOut && ctx.Err() == nil {
		return
	}
	l.cfg.Log.Info("Startup Reconciliation Report", l.startup.attributes(elapsed, timedOut)...)
	if timedOut && ctx.Err() == nil {
		l.notice.concerns = l.startup.concerns()
		l.running.Go(func() { l.notice.send(ctx) })
	}
	close(l.startup.over)
}

// beginObservation begins an observation if one is due, and returns the time until the next.
func (l *loop) beginObservation(ctx context.Context) time.Duration {
	if l.observing {
		return compareInterval // its end is an input
	}
	now := time.Now()
	claims := l.promotions() < maxClaimed // else the end of a promotion is an input
	due := l.compareAt
	if claims && l.claimAt.Before(due) {
		due = l.claimAt
	}
	if now.Before(due) {
		return due.Sub(now)
	}
	l.observing = true
	compares := !now.Before(l.compareAt)
	if compares {
		l.compareAt = now.Add(compareInterval)
	}
	l.running.Go(func() { l.observed <- l.observer.read(ctx, compares, claims) })
	return compareInterval
}

// takeObservation orders what follows from an observation, and plans the next.
func (l *loop) takeObservation(o observation) {
	l.observing = false
	now := time.Now()
	l.startup.record(o)
	if o.complete {
		l.compare(o, now)
	}
	if o.err != nil {
		l.failuresInRow++
		pause := min(retryBackoff.Delay(l.failuresInRow), compareInterval)
		l.cfg.Log.Warn("cannot compare monitors and workers, will try again", "error", o.err.Error(), "pause_sec", pause.Seconds())
		l.claimAt = now.Add(pause)
		if o.compares {
			l.compareAt = l.claimAt
		}
		return
	}
	l.failuresInRow = 0
	pause := maxPollInterval
	switch {
	case o.claimed > 0: // more may be due
		pause = 0
	case !o.nextDue.IsZero():
		pause = min(max(o.nextDue.Sub(now), minPollInterval), pause)
	}
	l.claimAt = now.Add(pause)
	if o.complete && !l.startup.isOver() && l.runtime.Shared {
		// In a shared runtime only a second comparison can find a worker missing (evaluate).
		l.compareAt = now.Add(exitGracePeriod)
	}
}
