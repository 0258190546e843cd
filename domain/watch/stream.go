package watch

import (
	"cmp"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// stream is the stream that is watched: by which rules, what is known of it, and the effects of
// the present step. Each kind of observation has a handler that works on it. Each part of the state decides what
// concerns it alone.
type stream struct {
	rules Rules
	state state
	emitter
}

func (s *state) monitoring() bool { return s.Status == monitor.Monitoring }

func (s *stream) plan() planner { return planner{s.rules, &s.state, s.now} }

// start enters Monitoring Mode (sections 7.1, 7.5).
func (s *stream) start(startedAt time.Time) {
	startedAt = instant.Earliest(startedAt, s.now)
	s.state.StartedAt, s.state.Resolve.Claim = startedAt, claim{}
	s.state.Schedule = schedule{} // stream.started ends the lateness
	s.state.Stream = monitor.StreamLive
	s.setStatus(monitor.Monitoring)
	data := event.Started{StartedAt: startedAt, DetectedAt: s.now}
	if scheduled := s.rules.ScheduledStart; !scheduled.IsZero() {
		delay := max(0, wholeSeconds(startedAt.Sub(scheduled)))
		data.ScheduledStartTime, data.DelaySec = &scheduled, &delay
	}
	s.emit(event.StreamStarted, data)
}

// end ends the watch because the stream has ended (section 7.6).
func (s *stream) end(reason string) {
	at := s.now
	if last := s.state.Feeds.mediaEnd(); last.Before(at) && last.After(s.state.StartedAt) {
		at = last
	}
	data := event.Ended{EndedAt: at, Reason: reason}
	if !s.state.StartedAt.IsZero() {
		data.DurationSec = wholeSeconds(max(0, at.Sub(s.state.StartedAt))) // the clock may have been set back
	}
	s.state.Stream = monitor.StreamEnded
	s.emit(event.StreamEnded, data)
	s.finish(monitor.Completed)
}

// fail ends the watch because the stream cannot be watched (section 7.2).
func (s *stream) fail(reason, details string) {
	details = cmp.Or(details, "no further reason is given")
	s.emit(event.MonitorError, event.MonitorFailure{Reason: reason, ErrorDetails: details, Terminal: true})
	s.finish(monitor.Failed)
}

// expire ends the watch of a stream that never went live (decision A10).
func (s *stream) expire() {
	s.fail(event.ReasonReservationExpired, "the stream had not started by its scheduled end and the tolerance after it")
}

func (s *stream) finish(final monitor.Status) {
	s.setStatus(final)
	s.state.Over = true
	s.effects = append(s.effects, Finished{})
}

func (s *stream) setStatus(status monitor.Status) {
	if s.state.Status == status {
		return
	}
	s.state.Status = status
	s.revise()
	s.effects = append(s.effects, StatusChanged{status})
}

// recordObserved records that the stream's state or new media were observed.
func (s *stream) recordObserved() {
	if s.state.Resolve.MissingCount > 0 {
		s.revise()
	}
	s.state.Resolve.MissingCount = 0
	if s.state.Blind.Alerted || s.state.Blind.Refused {
		s.state.dropBlindTime(s.now)
	}
	s.state.Blind.end(&s.emitter)
}
