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

// workerLoss describes a worker that exited, that a comparison found missing, or that
// stopped reporting.
type workerLoss struct {
	generation     int
	reason         string // of the monitor.error event, if the monitor fails
	details        string
	refused        bool          // the worker runs, but its reports are refused (decision O9)
	missing        bool          // a comparison did not find the worker (section 10.4)
	delay          time.Duration // between the loss and its handling
	attempts       int           // 0: no limit
	seenUpdatedAt  time.Time     // UpdatedAt of a silent worker's monitor at the comparison; zero for other losses
	pendingOutcome outcome       // set once AdvanceGeneration was called, whose result may be unknown
	done           func(outcome, error)
}

// reportedSince reports whether a silent worker has reported after the comparison.
func (l workerLoss) reportedSince(m monitor.Monitor) bool {
	return !l.seenUpdatedAt.IsZero() && !l.seenUpdatedAt.Equal(m.UpdatedAt)
}

// outcome is the result of handling a loss.
type outcome int

const (
	leftUnchanged      outcome = iota // nothing was done: the monitor has changed meanwhile, or the handling failed or was cancelled
	replacedUnreported                // the worker never reported, so the new one counts as the first
	relaunched                        // the monitor gets another worker
	failed                            // the monitor has ended with an error
)

// replace applies the policy of decision O3 to an active monitor's lost worker. Under
// both policies it launches another worker if the missing one has never reported. It also
// does so if the gateway refuses a running one's token, because nothing has failed then.
// After an error, the caller may try again.
func (r *actionRunner) replace(ctx context.Context, m monitor.Monitor, loss *workerLoss) (outcome, error) {
	neverReported := loss.missing && m.ReportedAt.IsZero()
	if r.cfg.MissingWorker == EndMonitor && !neverReported && !loss.refused {
		return r.failMonitor(ctx, m, loss.reason, loss.details, loss.missing)
	}
	if r.relaunches.count(m.ID) >= maxRelaunches {
		details := loss.details + fmt.Sprintf("; %d relaunches in %v did not help", maxRelaunches, relaunchPeriod)
		return r.failMonitor(ctx, m, event.ReasonWorkerLost, details, false)
	}
	loss.pendingOutcome = relaunched
	if neverReported {
		loss.pendingOutcome = replacedUnreported
	}
	return r.advance(ctx, m.ID, *loss)
}

// advance stores the next generation and enqueues its launch. After an error the
// caller must repeat advance itself. If the new generation was stored, find would
// conclude that another gateway has handled the loss.
func (r *actionRunner) advance(ctx context.Context, id monitor.ID, loss workerLoss) (outcome, error) {
	next, err := r.store.AdvanceGeneration(ctx, id, loss.generation, r.launcher.Runtime().ID)
	switch {
	case isNotCurrent(err):
		return leftUnchanged, nil
	case err != nil:
		return leftUnchanged, err
	}
	r.log.Warn("worker lost, another one is launched", "monitor_id", string(id),
		"generation", next.Generation, "lost", loss.details)
	r.startWorker(next)
	if loss.pendingOutcome == relaunched {
		r.relaunches.add(id)
	}
	return loss.pendingOutcome, nil
}

// failMonitor ends a monitor with status error and a last monitor.error event. For a
// missing worker, the event contains the result of the comparison (section 10.4).
func (r *actionRunner) failMonitor(ctx context.Context, m monitor.Monitor, reason, details string, missing bool) (outcome, error) {
	failure := event.MonitorFailure{Reason: reason, ErrorDetails: truncate(details), Terminal: true}
	if missing {
		failure.ReconciliationAction = "mark_as_error_missing_pod" // the value of section 10.4, also for processes
		failure.PreviousStatus = string(m.Status)
		failure.ObservedState = &event.ObservedState{PodExists: false, DBStatus: string(m.Status)}
	}
	err := r.store.Fail(ctx, m, reason, event.Event{
		ID: r.cfg.NewEventID(), Type: event.MonitorError, At: r.cfg.Now(), Data: failure,
	})
	switch {
	case isNotCurrent(err):
		return leftUnchanged, nil
	case err != nil:
		return leftUnchanged, err
	}
	r.log.Error("monitor given up, its stream is not watched any more: correct the cause that error_details names and register the stream again",
		"monitor_id", string(m.ID), "generation", m.Generation, "reason", reason, "error_details", failure.ErrorDetails)
	return failed, nil
}

// isNotCurrent reports whether err says that a monitor is not active, or that its
// newest generation is another one.
func isNotCurrent(err error) bool {
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

// relaunchBackoff returns the pause before the next relaunch of a worker. n counts its
// relaunches within relaunchPeriod. The pauses are 0, 1, 2, 4 and 5 s. After
// maxRelaunches the pause is 0, because the monitor fails instead.
func relaunchBackoff(n int) time.Duration {
	if n == 0 || n >= maxRelaunches {
		return 0
	}
	return retryBackoff.Delay(n)
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
