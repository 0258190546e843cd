package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	absent     bool          // a reconciliation found no worker (section 10.4)
	settle     time.Duration // how long to wait before it is asked whether the worker was needed
	attempts   int
	unless     time.Time // what UpdatedAt must still be for it to be a loss; zero: anything
	advancing  remedy    // what its monitor is advanced for, once that was tried
	told       func(remedy, error)
}

// disproved tells that the worker has given a sign of life since.
func (l loss) disproved(m monitor.Monitor) bool {
	return !l.unless.IsZero() && !l.unless.Equal(m.UpdatedAt)
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
// active monitor. A worker that was only intended is no loss: what never reported
// is launched whatever the policy. Errors: it could not be done, and may be tried
// again.
func (s *Supervisor) replace(ctx context.Context, m monitor.Monitor, l *loss) (remedy, error) {
	unborn := l.absent && m.ReportedAt.IsZero()
	if s.cfg.MissingWorker == EndMonitor && !unborn {
		return s.giveUp(ctx, m, l.reason, l.details, l.absent)
	}
	if s.budget.spent(m.ID) >= relaunches {
		details := l.details + fmt.Sprintf("; %d relaunches in %v did not help", relaunches, relaunchTerm)
		return s.giveUp(ctx, m, event.ReasonWorkerLost, details, false)
	}
	l.advancing = replaced
	if unborn {
		l.advancing = launched
	}
	return s.advance(ctx, m.ID, *l)
}

// advance has a worker of the next generation launched. When its outcome is
// unknown it must be tried again as it is: a monitor that it has advanced looks
// like somebody else's to find.
func (s *Supervisor) advance(ctx context.Context, id monitor.ID, l loss) (remedy, error) {
	next, err := s.roster.AdvanceGeneration(ctx, id, l.generation, s.launcher.Runtime().ID)
	switch {
	case overtaken(err):
		return nothing, nil
	case err != nil:
		return nothing, err
	}
	s.log.Warn("worker lost, another one is launched", "monitor_id", string(id),
		"generation", next.Generation, "lost", l.details)
	s.Start(next)
	if l.advancing == replaced {
		s.budget.spend(id)
	}
	return l.advancing, nil
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
// was relaunched n times lately: not at all, then 1, 2, 4, 5 s. There is nothing
// to wait for when there will be no other.
func relaunchPause(n int) time.Duration {
	if n == 0 || n >= relaunches {
		return 0
	}
	return pause(n)
}

// budget counts the relaunches of the last ten minutes.
type budget struct {
	mu sync.Mutex
	at map[monitor.ID][]time.Time
}

func newBudget() *budget { return &budget{at: map[monitor.ID][]time.Time{}} }

func (b *budget) spent(id monitor.ID) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.at[id]) > 0 && time.Since(b.at[id][0]) >= relaunchTerm {
		b.at[id] = b.at[id][1:]
	}
	return len(b.at[id])
}

func (b *budget) spend(id monitor.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at[id] = append(b.at[id], time.Now())
}

// keep forgets monitors that are not active any more.
func (b *budget) keep(active map[monitor.ID]monitor.Monitor) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.at, func(id monitor.ID, _ []time.Time) bool { return active[id].ID == "" })
}
