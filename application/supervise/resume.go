package supervise

import (
	"context"
	"errors"
	"fmt"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// advanceAttempts is how often a monitor's generation is tried to be advanced
// before the monitor is skipped (section 10.4).
const advanceAttempts = 4

// Resume asks for a new worker for every monitor that is active, each of a new
// generation: workers left over from an earlier gateway find out from their
// next report, and end. It blocks for the database, not for the launches, and
// is called once, at the start; nothing goes wrong when Start is called
// meanwhile. A monitor that cannot be advanced is skipped and logged (section
// 10.4). Errors: the active monitors could not be read before ctx was done.
func (s *Supervisor) Resume(ctx context.Context) error {
	var active []monitor.Monitor
	err := s.persist(ctx, "read the active monitors", func(ctx context.Context) (err error) {
		active, err = s.roster.Active(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}

	resumed, ended, skipped := 0, 0, 0
	for _, m := range active {
		next, err := s.advance(ctx, m)
		var gone *monitor.Error
		switch {
		case err == nil:
			resumed++
			s.Start(next)
		case errors.As(err, &gone) && gone.Code == monitor.NotFound:
			ended++
		default:
			skipped++
			s.log.Error("monitor could not be resumed", "monitor_id", string(m.ID), "error", err.Error())
		}
	}
	s.log.Info("Startup Reconciliation Report", "active", len(active),
		"resumed", resumed, "ended_meanwhile", ended, "skipped", skipped)
	return nil
}

func (s *Supervisor) advance(ctx context.Context, m monitor.Monitor) (monitor.Monitor, error) {
	for n := 1; ; n++ {
		once, cancel := context.WithTimeout(ctx, exchangeLimit)
		next, err := s.roster.Advance(once, m.ID, m.Generation, s.launcher.Place().ID)
		cancel()
		var final *monitor.Error
		if err == nil || n == advanceAttempts || errors.As(err, &final) {
			return next, err
		}
		if !wait(ctx, pause(n)) {
			return next, err
		}
	}
}
