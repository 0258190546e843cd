package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// loss is a worker that was lost.
type loss struct {
	generation int
	reason     string // of the monitor.error event, should there be one
	details    string
	settle     bool // it has just ended: whether it was needed is asked a little later
	absent     bool // a reconciliation found no worker (section 10.4)
	told       func(remedy, error)
}

// remedy is what was done about a loss.
type remedy int

const (
	nothing  remedy = iota // the monitor has changed meanwhile: it is somebody else's
	launched               // it had no worker yet, and gets its first
	replaced               // it gets another one
	givenUp                // it has ended with an error
)

// replace does what the policy of decision O3 says about the lost worker of an
// active monitor. A worker that was only intended is no loss: a monitor that
// nobody ever reported for gets its worker whatever the policy. Errors: it could
// not be done, and may be tried again.
func (s *Supervisor) replace(ctx context.Context, m monitor.Monitor, l loss) (remedy, error) {
	unborn := l.absent && len(m.Snapshot) == 0
	if s.cfg.Missing == EndMonitor && !unborn {
		return s.giveUp(ctx, m, l.reason, l.details, l.absent)
	}
	if n := s.repeats.count(m.ID); n >= relaunches {
		l.details += fmt.Sprintf("; %d relaunches in %v did not help", n, relaunchTerm)
		return s.giveUp(ctx, m, event.ReasonWorkerLost, l.details, false)
	}
	next, err := s.roster.Advance(ctx, m.ID, m.Generation, s.launcher.Place().ID)
	switch {
	case overtaken(err):
		return nothing, nil
	case err != nil:
		return nothing, err
	}
	s.repeats.note(m.ID)
	s.log.Warn("worker lost, another one is launched", "monitor_id", string(m.ID),
		"generation", next.Generation, "lost", l.details)
	s.Start(next)
	if unborn {
		return launched, nil
	}
	return replaced, nil
}

// giveUp ends a monitor: status error and a last monitor.error event, with what
// the reconciliation saw if its worker was absent then (section 10.4).
func (s *Supervisor) giveUp(ctx context.Context, m monitor.Monitor, reason, details string, absent bool) (remedy, error) {
	trouble := event.Trouble{Reason: reason, ErrorDetails: brief(details), Terminal: true}
	if absent {
		trouble.ReconciliationAction = "mark_as_error_missing_pod"
		trouble.PreviousStatus = string(m.Status)
		trouble.ObservedState = &event.ObservedState{PodExists: false, DBStatus: string(m.Status)}
	}
	err := s.roster.Fail(ctx, m, reason, event.Event{
		ID: s.cfg.NewEventID(), Type: event.MonitorError, At: s.cfg.Now(), Data: trouble,
	})
	switch {
	case overtaken(err):
		return nothing, nil
	case err != nil:
		return nothing, err
	}
	s.log.Error("monitor given up", "monitor_id", string(m.ID), "generation", m.Generation,
		"reason", reason, "error_details", trouble.ErrorDetails)
	return givenUp, nil
}

// overtaken tells that a monitor is not any more what it was taken for.
func overtaken(err error) bool {
	var gone *monitor.Error
	return errors.Is(err, monitor.ErrSuperseded) || errors.As(err, &gone) && gone.Code == monitor.NotFound
}

// brief cuts text to maxDetails characters.
func brief(text string) string {
	if r := []rune(text); len(r) > maxDetails {
		return string(r[:maxDetails-1]) + "…"
	}
	return text
}

// relaunchPause is how long to wait before the next relaunch of a worker that
// was relaunched n times lately: not at all, then 1, 2, 4, 8 s.
func relaunchPause(n int) time.Duration {
	if n == 0 {
		return 0
	}
	return pause(n)
}

// relaunched counts the relaunches of the last ten minutes.
type relaunched struct {
	mu sync.Mutex
	at map[monitor.ID][]time.Time
}

func newRelaunched() *relaunched { return &relaunched{at: map[monitor.ID][]time.Time{}} }

func (r *relaunched) count(id monitor.ID) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.at[id]) > 0 && time.Since(r.at[id][0]) >= relaunchTerm {
		r.at[id] = r.at[id][1:]
	}
	return len(r.at[id])
}

func (r *relaunched) note(id monitor.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[id] = append(r.at[id], time.Now())
}

// keep forgets monitors that are not active any more.
func (r *relaunched) keep(active map[monitor.ID]Standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.at {
		if _, there := active[id]; !there {
			delete(r.at, id)
		}
	}
}
