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

// maxDetails bounds error_details, in characters.
const maxDetails = 500

// workerLoss describes a worker that was lost.
type workerLoss struct {
	generation     int
	reason         string // of the monitor.error event, if the monitor fails
	details        string
	absent         bool          // a comparison found no worker (section 10.4)
	delay          time.Duration // before it is checked whether the worker was needed
	attempts       int           // 0: no limit
	unchangedSince time.Time     // the monitor's UpdatedAt of a silent worker; zero for other losses
	advancing      outcome       // what the next generation is for, once AdvanceGeneration was tried
	done           func(outcome, error)
}

// disproved reports that the silent worker has reported meanwhile.
func (l workerLoss) disproved(m monitor.Monitor) bool {
	return !l.unchangedSince.IsZero() && !l.unchangedSince.Equal(m.UpdatedAt)
}

// outcome is what was done about a loss.
type outcome int

const (
	noAction   outcome = iota // the monitor has changed meanwhile: another gateway has handled it
	launched                  // the monitor had no worker yet, and gets its first
	relaunched                // the monitor gets another worker
	failed                    // the monitor has ended with an error
)

// replace applies the policy of decision O3 to an active monitor's lost worker.
// A worker that has never reported is launched under both policies. Errors: it
// may be tried again.
func (r *actionRunner) replace(ctx context.Context, m monitor.Monitor, loss *workerLoss) (outcome, error) {
	neverReported := loss.absent && m.ReportedAt.IsZero()
	if r.cfg.MissingWorker == EndMonitor && !neverReported {
		return r.failMonitor(ctx, m, loss.reason, loss.details, loss.absent)
	}
	if r.relaunches.count(m.ID) >= maxRelaunches {
		details := loss.details + fmt.Sprintf("; %d relaunches in %v did not help", maxRelaunches, relaunchPeriod)
		return r.failMonitor(ctx, m, event.ReasonWorkerLost, details, false)
	}
	loss.advancing = relaunched
	if neverReported {
		loss.advancing = launched
	}
	return r.advance(ctx, m.ID, *loss)
}

// advance asks for a worker of the next generation. When the outcome is unknown,
// exactly this must be repeated: if the generation was stored, find would take
// the monitor for another gateway's.
func (r *actionRunner) advance(ctx context.Context, id monitor.ID, loss workerLoss) (outcome, error) {
	next, err := r.store.AdvanceGeneration(ctx, id, loss.generation, r.launcher.Runtime().ID)
	switch {
	case isOutdated(err):
		return noAction, nil
	case err != nil:
		return noAction, err
	}
	r.log.Warn("worker lost, another one is launched", "monitor_id", string(id),
		"generation", next.Generation, "lost", loss.details)
	r.start(next)
	if loss.advancing == relaunched {
		r.relaunches.add(id)
	}
	return loss.advancing, nil
}

// failMonitor ends a monitor with status error and a last monitor.error event. If
// a comparison found no worker, the event says what it found (section 10.4).
func (r *actionRunner) failMonitor(ctx context.Context, m monitor.Monitor, reason, details string, absent bool) (outcome, error) {
	trouble := event.MonitorFailure{Reason: reason, ErrorDetails: truncate(details), Terminal: true}
	if absent {
		trouble.ReconciliationAction = "mark_as_error_missing_pod"
		trouble.PreviousStatus = string(m.Status)
		trouble.ObservedState = &event.ObservedState{PodExists: false, DBStatus: string(m.Status)}
	}
	err := r.store.Fail(ctx, m, reason, event.Event{
		ID: r.cfg.NewEventID(), Type: event.MonitorError, At: r.cfg.Now(), Data: trouble,
	})
	switch {
	case isOutdated(err):
		return noAction, nil
	case err != nil:
		return noAction, err
	}
	r.log.Error("monitor given up", "monitor_id", string(m.ID), "generation", m.Generation,
		"reason", reason, "error_details", trouble.ErrorDetails)
	return failed, nil
}

// isOutdated reports that a monitor is not active, or has a newer generation.
func isOutdated(err error) bool {
	var known *monitor.Error
	return errors.Is(err, monitor.ErrSuperseded) || errors.As(err, &known) && known.Code == monitor.NotFound
}

// truncate cuts text to maxDetails characters.
func truncate(text string) string {
	if r := []rune(text); len(r) > maxDetails {
		return string(r[:maxDetails-1]) + "…"
	}
	return text
}

// relaunchBackoff is the pause before the next relaunch of a worker that was
// relaunched n times within relaunchPeriod: none, then 1, 2, 4 and 5 s. There is
// no pause before the monitor fails.
func relaunchBackoff(n int) time.Duration {
	if n == 0 || n >= maxRelaunches {
		return 0
	}
	return backoff(n)
}

// relaunchHistory counts the relaunches within the last relaunchPeriod.
type relaunchHistory struct {
	mu    sync.Mutex
	times map[monitor.ID][]time.Time // ascending
}

func newRelaunchHistory() *relaunchHistory {
	return &relaunchHistory{times: map[monitor.ID][]time.Time{}}
}

func (h *relaunchHistory) count(id monitor.ID) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.times[id]) > 0 && time.Since(h.times[id][0]) >= relaunchPeriod {
		h.times[id] = h.times[id][1:]
	}
	return len(h.times[id])
}

func (h *relaunchHistory) add(id monitor.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.times[id] = append(h.times[id], time.Now())
}

// retain forgets all monitors but the active ones.
func (h *relaunchHistory) retain(active map[monitor.ID]monitor.Monitor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.times, func(id monitor.ID, _ []time.Time) bool { return active[id].ID == "" })
}
