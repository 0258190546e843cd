package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// schedule remembers whether a late start was alerted (section 7.3, decision S13).
type schedule struct {
	DelayAlerted bool      `json:"delay_alerted,omitempty"` // stream.delayed has been emitted
	AlertedStart time.Time `json:"alerted_start,omitzero"`  // the scheduled start of that event
}

// alertDelay emits stream.delayed once the tolerance after the scheduled start has
// passed. The caller knows that the stream is not live.
func (s *schedule) alertDelay(r Rules, e *emitter) {
	if s.DelayAlerted || r.ScheduledStart.IsZero() || !e.now.After(r.ScheduledStart.Add(r.StartTolerance)) {
		return
	}
	s.DelayAlerted, s.AlertedStart = true, r.ScheduledStart
	e.emit(event.StreamDelayed, event.Delayed{
		ScheduledStartTime: r.ScheduledStart,
		DelaySec:           wholeSeconds(e.now.Sub(r.ScheduledStart)),
		ToleranceSec:       wholeSeconds(r.StartTolerance),
	})
}

// follow ends the lateness of a stream whose start was moved after the alert, to one whose
// tolerance has not passed, or removed (section 16.6); a new alert may follow. The start is
// compared because a clock that was set back also makes the tolerance end in the future.
func (s *schedule) follow(r Rules, e *emitter) {
	late := !r.ScheduledStart.IsZero() && !r.ScheduledStart.Add(r.StartTolerance).After(e.now)
	if !s.DelayAlerted || late || r.ScheduledStart.Equal(s.AlertedStart) {
		return
	}
	e.endSignal(trouble.Late, &s.AlertedStart, e.now)
	s.DelayAlerted = false
}
