package supervise

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// maxDetails bounds error_details, in characters.
const maxDetails = 500

// launch starts a worker, with retries, and gives its monitor up when none
// helps. It tells whether the post is over; when ctx is done that is undecided,
// and a newer wish follows.
func (s *Supervisor) launch(ctx context.Context, j Job) (over bool) {
	log := s.log.With("monitor_id", string(j.ID), "generation", j.Generation)
	for n := 1; ; n++ {
		err := s.launchOnce(ctx, j)
		switch {
		case err == nil:
			log.Debug("worker launched")
			return false
		case ctx.Err() != nil:
			return false
		case n == launchAttempts:
			m, ours := s.find(ctx, j.ID, j.Generation)
			if ours {
				s.end(ctx, m, event.ReasonLaunchFailed, fmt.Sprintf("no worker could be started: %v", err))
			}
			return true
		}
		log.Warn("worker could not be launched, will try again", "error", err.Error(), "pause_sec", pause(n).Seconds())
		if !wait(ctx, pause(n)) {
			return false
		}
	}
}

func (s *Supervisor) launchOnce(ctx context.Context, j Job) error {
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

// inquire finds out whether a worker that ended was still needed.
func (s *Supervisor) inquire(ctx context.Context, e Exit) (over bool) {
	if !wait(ctx, s.cfg.Settle) {
		return false
	}
	if m, ours := s.find(ctx, e.ID, e.Generation); ours {
		s.replace(ctx, m, e)
	}
	return true
}

// replace is what is done about the lost worker of an active monitor: policy
// error of decision O3, the monitor ends and its owner is told.
func (s *Supervisor) replace(ctx context.Context, m monitor.Monitor, e Exit) {
	s.end(ctx, m, event.ReasonWorkerLost, "the worker ended by itself: "+e.Detail)
}

// find reads a monitor and tells whether it is active with this generation as
// its newest; never when ctx is done.
func (s *Supervisor) find(ctx context.Context, id monitor.ID, generation int) (found monitor.Monitor, ours bool) {
	_ = s.persist(ctx, "read a monitor", func(ctx context.Context) (err error) {
		found, err = s.roster.Get(ctx, id)
		var gone *monitor.Error
		if errors.As(err, &gone) {
			found, err = monitor.Monitor{}, nil
		}
		return err
	})
	ours = found.Status.Active() && found.Generation == generation
	return found, ours && ctx.Err() == nil
}

// end gives a monitor up: status error and a last monitor.error event.
func (s *Supervisor) end(ctx context.Context, m monitor.Monitor, reason, details string) {
	if r := []rune(details); len(r) > maxDetails {
		details = string(r[:maxDetails-1]) + "…"
	}
	now := s.cfg.Now()
	last := event.Event{
		ID:   s.cfg.NewEventID(), // one for all tries: a repeated End stores one event
		Type: event.MonitorError,
		At:   now,
		Data: event.Trouble{Reason: reason, ErrorDetails: details, Terminal: true},
	}
	err := s.persist(ctx, "end a monitor", func(ctx context.Context) error {
		return s.roster.Fail(ctx, m, reason, last)
	})
	if err == nil {
		s.log.Error("monitor given up", "monitor_id", string(m.ID), "generation", m.Generation,
			"reason", reason, "error_details", details)
	}
}

// persist repeats an exchange with the database until it succeeds or ctx is
// done.
func (s *Supervisor) persist(ctx context.Context, what string, exchange func(context.Context) error) error {
	for n := 1; ; n++ {
		once, cancel := context.WithTimeout(ctx, exchangeLimit)
		err := exchange(once)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
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
