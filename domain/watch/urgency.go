package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Urgency says which of several questions about streams a host asks first.
type Urgency int

// The urgencies of a TaskResolve, the lowest first.
const (
	UrgencyPoll   Urgency = iota // the regular question
	UrgencyStart                 // whether the stream has begun: the first question, and those after its scheduled start
	UrgencyOutage                // the media are missing or refused, or an answer said that the stream is over
)

// Lead returns how long before a poll of the same time a question of this urgency is asked. So
// an outage passes every poll of the last ten minutes, and no question waits for those that
// come later than that.
func (u Urgency) Lead() time.Duration {
	switch u {
	case UrgencyOutage:
		return 10 * time.Minute
	case UrgencyStart:
		return 2 * time.Minute
	case UrgencyPoll:
	}
	return 0
}

// Urgency returns how urgent a question about the stream's state is at now. One that still
// waits for its turn is as urgent as one that is asked now.
func (w *Watcher) Urgency(now time.Time) Urgency { return w.plan().resolveUrgency(now) }

// resolveUrgency returns how urgent a question is at a time.
func (p planner) resolveUrgency(at time.Time) Urgency {
	r := &p.state.Resolve
	switch {
	case p.state.monitoring():
		if p.state.Feeds.inOutage() || r.Claim.open() {
			return UrgencyOutage
		}
	case r.LastBegan.IsZero(), r.Claim.open(), p.state.Official.says(monitor.StreamLive, at):
		return UrgencyStart
	case !p.rules.ScheduledStart.IsZero() && !at.Before(p.rules.ScheduledStart):
		return UrgencyStart
	}
	return UrgencyPoll
}
