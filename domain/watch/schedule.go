package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// schedule follows what was announced: when the stream should start, and until
// when it is waited for (section 7.3, decisions S13 and A10).
type schedule struct {
	DelayAlerted bool `json:"delay_told,omitempty"` // stream.delayed has been emitted
}

// delayed returns the event of a stream that is not live past its start and
// the tolerance, once.
func (s *schedule) delayed(r Rules, now time.Time) (event.Delayed, bool) {
	if s.DelayAlerted || r.ScheduledStart.IsZero() || !now.After(r.ScheduledStart.Add(r.StartTolerance)) {
		return event.Delayed{}, false
	}
	s.DelayAlerted = true
	return event.Delayed{
		ScheduledStartTime: r.ScheduledStart,
		DelaySec:           wholeSeconds(now.Sub(r.ScheduledStart)),
		ToleranceSec:       wholeSeconds(r.StartTolerance),
	}, true
}

// expiresAt is when a stream that has never been live is given up; zero: never. At
// that time the stream's state is asked once more. If no answer comes within
// blindLimit, the watch ends anyway.
func (w *Watcher) expiresAt() time.Time {
	if w.monitoring() || w.rules.ScheduledEnd.IsZero() {
		return time.Time{}
	}
	return w.rules.ScheduledEnd.Add(w.rules.StartTolerance)
}

// expire ends the watch of a stream that never went live (decision A10).
func (w *Watcher) expire() {
	w.fail(event.ReasonReservationExpired, "the stream had not started by its scheduled end and the tolerance after it")
}
