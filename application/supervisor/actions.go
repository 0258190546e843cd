package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// maxDetails bounds error_details, in characters.
const maxDetails = 500

// launch starts a worker, with retries, and gives its monitor up when none has
// helped for launchTerm, by the policy Relaunch for relaunchTerm: what stands in
// the way may pass. It tells whether the post is over; when ctx is done that is
// undecided, and a newer wish follows.
func (s *Supervisor) launch(ctx context.Context, j WorkerSpec) (over bool) {
	log := s.log.With("monitor_id", string(j.ID), "generation", j.Generation)
	began, term := time.Now(), launchTerm
	if s.cfg.MissingWorker == Relaunch {
		term = relaunchTerm
	}
	for n := 1; ; n++ {
		err := s.launchOnce(ctx, j)
		switch {
		case err == nil:
			log.Debug("worker launched")
			return false
		case ctx.Err() != nil:
			return false
		case time.Since(began) >= term:
			s.renounce(ctx, j, err)
			return true
		}
		log.Warn("worker could not be launched, will try again", "error", err.Error(), "pause_sec", pause(n).Seconds())
		if !wait(ctx, pause(n)) {
			return false
		}
	}
}

// renounce ends the monitor of a job that cannot be launched.
func (s *Supervisor) renounce(ctx context.Context, j WorkerSpec, because error) {
	_ = s.persist(ctx, endless, "give a monitor up", func(ctx context.Context) error {
		m, ours, err := s.find(ctx, j.ID, j.Generation)
		if err == nil && ours {
			_, err = s.giveUp(ctx, m, event.ReasonLaunchFailed, fmt.Sprintf("no worker could be started: %v", because), false)
		}
		return err
	})
}

func (s *Supervisor) launchOnce(ctx context.Context, j WorkerSpec) error {
	select {
	case s.launches <- struct{}{}:
		defer func() { <-s.launches }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, launchLimit)
	defer cancel()
	return s.launcher.Launch(ctx, j)
}

// dismiss ends a monitor's worker.
func (s *Supervisor) dismiss(ctx context.Context, id monitor.ID) (over bool) {
	for n := 1; ; n++ {
		err := s.launcher.Stop(ctx, id)
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			return false
		case n == stopAttempts:
			s.log.Error("worker could not be stopped", "monitor_id", string(id), "error", err.Error())
			return true
		}
		s.log.Warn("worker could not be stopped, will try again",
			"monitor_id", string(id), "error", err.Error(), "pause_sec", pause(n).Seconds())
		if !wait(ctx, pause(n)) {
			return false
		}
	}
}

// inquire finds out whether a worker that was lost is still needed, and does
// something about it. What cannot be done is tried again; a loss that a look has
// found, a few times only: the next look finds it again (section 10.4). Who has
// retired keeps the post, and so gives the monitor back.
func (s *Supervisor) inquire(ctx context.Context, id monitor.ID, l loss) (over bool) {
	if !wait(ctx, max(l.settle, relaunchPause(s.budget.spent(id)))) {
		l.told(nothing, ctx.Err())
		return false
	}
	done := nothing
	err := s.persist(ctx, l.attempts, "replace a lost worker", func(ctx context.Context) (err error) {
		if l.advancing != nothing {
			done, err = s.advance(ctx, id, l)
			return err
		}
		m, ours, err := s.find(ctx, id, l.generation)
		if err == nil && ours && !l.disproved(m) && !s.retired.Load() {
			done, err = s.replace(ctx, m, &l)
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.log.Error("a lost worker could not be replaced", "monitor_id", string(id), "error", err.Error())
	}
	l.told(done, err)
	kept := s.retired.Load() && l.unless.IsZero() // who is silent may be another place's
	return ctx.Err() == nil && !kept
}

// find reads a monitor and tells whether it is active with this generation as
// its newest.
func (s *Supervisor) find(ctx context.Context, id monitor.ID, generation int) (found monitor.Monitor, ours bool, err error) {
	found, err = s.roster.Get(ctx, id)
	if overtaken(err) {
		return found, false, nil
	}
	return found, found.Status.Active() && found.Generation == generation, err
}

// persist repeats an exchange with the database until it succeeds, until it was
// tried so many times, or until ctx is done.
func (s *Supervisor) persist(ctx context.Context, tries int, what string, exchange func(context.Context) error) error {
	for n := 1; ; n++ {
		once, cancel := context.WithTimeout(ctx, exchangeLimit)
		err := exchange(once)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, n == tries:
			return fmt.Errorf("%s: %w", what, err)
		}
		s.log.Warn("cannot "+what+", will try again", "error", err.Error(), "pause_sec", pause(n).Seconds())
		if !wait(ctx, pause(n)) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}

// wait blocks for d and tells whether to go on: not when ctx is done.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
