package supervisor

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// maxDetails bounds error_details, in characters.
const maxDetails = 500

// workerLoss describes a worker that exited, that a comparison found missing, or that
// stopped reporting.
type workerLoss struct {
	reason         string // of the monitor.error event, if the monitor fails
	details        string
	blameless      bool      // the worker did not fail: its gateway has ended, or refuses its reports (decisions O4, O9)
	missing        bool      // a comparison did not find the worker (section 10.4)
	attempts       int       // to handle it, until the next comparison finds it again; 0: no limit, because none does
	seenUpdatedAt  time.Time // UpdatedAt of the monitor of a silent or abandoned worker, at the comparison; zero for other losses
	relaunches     int       // of the monitor's workers within relaunchPeriod, when the task began
	pendingOutcome outcome   // of a call of AdvanceGeneration whose result may be unknown; leftUnchanged: it was not called
}

// reportedSince reports whether a silent or abandoned worker has reported after the comparison.
func (l workerLoss) reportedSince(m monitor.Monitor) bool {
	return !l.seenUpdatedAt.IsZero() && !l.seenUpdatedAt.Equal(m.UpdatedAt)
}

// decide applies the policy of decision O3 to an active monitor's lost worker. Under
// both policies another worker is launched if the missing one has never reported, or if the
// worker is blameless. If the monitor fails, the loss that decide returns is the cause.
func (l workerLoss) decide(m monitor.Monitor, policy MissingWorkerPolicy) (outcome, workerLoss) {
	neverReported := l.missing && m.ReportedAt.IsZero()
	switch {
	case policy == EndMonitor && !neverReported && !l.blameless:
		return failed, l
	case l.relaunches >= maxRelaunches:
		l.reason = event.ReasonWorkerLost
		l.details += fmt.Sprintf("; %d relaunches in %v did not help", maxRelaunches, relaunchPeriod)
		return failed, l
	case neverReported:
		return replacedUnreported, l
	}
	return relaunched, l
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

// relaunchHistory holds the times of the relaunches within the last relaunchPeriod,
// ascending.
type relaunchHistory map[monitor.ID][]time.Time

func (h relaunchHistory) count(id monitor.ID) int {
	for len(h[id]) > 0 && time.Since(h[id][0]) >= relaunchPeriod {
		h[id] = h[id][1:]
	}
	return len(h[id])
}

func (h relaunchHistory) add(id monitor.ID) { h[id] = append(h[id], time.Now()) }

// retain forgets all monitors but the active ones.
func (h relaunchHistory) retain(active map[monitor.ID]monitor.Monitor) {
	maps.DeleteFunc(h, func(id monitor.ID, _ []time.Time) bool { return active[id].ID == "" })
}
