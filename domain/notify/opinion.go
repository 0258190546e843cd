package notify

import (
	"cmp"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// OpinionPower says what second opinions about alerts may do to messages to people (section 19.9). Events to
// callbacks and webhooks never depend on them.
type OpinionPower string

// The powers. Without one, as with OpinionsNote, messages do not depend on opinions.
const (
	OpinionsNote OpinionPower = "note" // they are stored and shown
	OpinionsHold OpinionPower = "hold" // and messages wait for them, for at most incident.OpinionWithin
	OpinionsDrop OpinionPower = "drop" // and drop messages
)

// Advice is what second opinions mean for the messages about an incident.
type Advice struct {
	Told    incident.Incident // without the conditions that wait for an opinion, and without those that are dropped
	Nothing bool              // no condition is left, or none that lasts of an incident in which one lasts
	Until   time.Time         // when the first condition that waits is told without an opinion; zero: none waits
	Dropped string            // why some conditions are dropped; empty: none is, or some wait
}

// Advise returns what second opinions mean for the messages about an incident.
func (p OpinionPower) Advise(i incident.Incident, now time.Time) (a Advice) {
	a.Told = i.Without(func(c incident.Condition) bool {
		switch {
		case p.waits(c, now):
			a.Until = instant.Earliest(a.Until, opinionUntil(c))
			return true
		case p.drops(c):
			a.Dropped = cmp.Or(a.Dropped, droppedBy(*c.Alert.Opinion))
			return true
		}
		return false
	}, now)
	a.Nothing = len(a.Told.Conditions) == 0 || i.Lasts() && !a.Told.Lasts()
	if !a.Until.IsZero() {
		a.Dropped = ""
	}
	return a
}

// waits reports whether the messages about a condition wait for an opinion. They do not once the condition has
// ended without a question.
func (p OpinionPower) waits(c incident.Condition, now time.Time) bool {
	if p != OpinionsHold && p != OpinionsDrop || c.Alert == nil || c.Alert.EventID == "" || !incident.MayBeAsked(c.Name) || !now.Before(opinionUntil(c)) {
		return false
	}
	o := c.Alert.Opinion
	return o == nil && c.Lasts() || o != nil && o.Verdict == incident.OpinionAsked
}

// drops reports whether an opinion that came in time drops the messages about a condition.
func (p OpinionPower) drops(c incident.Condition) bool {
	if p != OpinionsDrop || c.Alert == nil || c.Alert.Opinion == nil {
		return false
	}
	o := c.Alert.Opinion
	return o.Verdict == incident.OpinionDrop && !o.AnsweredAt.After(opinionUntil(c))
}

// opinionUntil returns the end of the time in which an opinion about the alert of a condition counts.
func opinionUntil(c incident.Condition) time.Time {
	return c.Alert.StoredAt.Add(incident.OpinionWithin)
}

// droppedBy says for people why a message was dropped.
func droppedBy(o incident.Opinion) string {
	const by = "dropped by the second opinion"
	if o.Reason == "" {
		return by
	}
	return by + ": " + o.Reason
}
