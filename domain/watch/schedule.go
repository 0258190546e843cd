package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// schedule is what was announced: when the stream should start, and by when it
// is no longer expected (section 7.3, decisions S13, A10).
type schedule struct {
	DelayTold bool `json:"delay_told,omitempty"`
}

// late is the event to send when a poll at now found the stream not live.
func (s *schedule) late(r Rules, now time.Time) (event.Delayed, bool) {
	if s.DelayTold || r.ScheduledStart.IsZero() || !now.After(r.ScheduledStart.Add(r.StartTolerance)) {
		return event.Delayed{}, false
	}
	s.DelayTold = true
	return event.Delayed{
		ScheduledStartTime: r.ScheduledStart,
		DelaySec:           whole(now.Sub(r.ScheduledStart)),
		ToleranceSec:       whole(r.StartTolerance),
	}, true
}

// expires is when a stream that never went live is given up; zero: never.
func (s *schedule) expires(r Rules) time.Time {
	if r.ScheduledEnd.IsZero() {
		return time.Time{}
	}
	return r.ScheduledEnd.Add(r.StartTolerance)
}

// nextPoll is when to ask again while waiting (section 7.5): every 30 s, but
// not past the scheduled start or the moment at which it is late; every 10 s
// once it has passed.
func (s *schedule) nextPoll(r Rules, now time.Time) time.Time {
	if r.ScheduledStart.IsZero() {
		return now.Add(pollBeforeStart)
	}
	next := now.Add(pollBeforeStart)
	if !now.Before(r.ScheduledStart) {
		next = now.Add(pollAfterStart)
	}
	for _, moment := range []time.Time{r.ScheduledStart, r.ScheduledStart.Add(r.StartTolerance)} {
		if moment.After(now) && moment.Before(next) && !s.DelayTold {
			next = moment
		}
	}
	return next
}
