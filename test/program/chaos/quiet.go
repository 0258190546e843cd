//go:build linux

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// sendMargin is how long a message may take that was being sent when a quiet time began or an
// incident was acknowledged. Faults that last at that time lengthen it.
const sendMargin = 2 * time.Second

// settled returns when everything has arrived that was being sent at a time.
func (a *audit) settled(at time.Time) time.Time {
	settled := at.Add(sendMargin)
	for extended := true; extended; { // one fault may follow another
		extended = false
		for _, inj := range a.injected {
			if mayDelaySending(inj) && inj.from.Before(settled) && inj.to.After(at.Add(-time.Second)) && inj.to.Add(sendMargin).After(settled) {
				settled, extended = inj.to.Add(sendMargin), true
			}
		}
	}
	return settled
}

// mayDelaySending reports whether a fault affects what a gateway sends. Others delay only what
// there is to tell.
func mayDelaySending(inj injection) bool {
	switch inj.component {
	case workerComponent, toolComponent, reportComponent:
		return false
	}
	return true
}

// shown is what people see of a message from a time on.
type shown struct {
	at          time.Time
	text, state string
	edited      bool
}

// shownOf returns what a message showed when it was posted, and after each change.
func shownOf(m channel.Message) []shown {
	all := []shown{{at: m.PostedAt, text: m.Posted}}
	for _, c := range m.Changes {
		all = append(all, shown{c.At, c.Text, c.State, true})
	}
	return all
}

// isEnd reports whether this tells the end of an incident or a storm.
func (s shown) isEnd() bool { return strings.HasPrefix(s.text, "✅") || s.state == "resolved" }

// checkQuiet finds what was sent in a quiet time: during a silence, to a channel without a route,
// or to a destination that is disabled or deleted.
func (a *audit) checkQuiet(c *counters) (findings []string) {
	for _, q := range a.operations.quiet {
		began := a.settled(q.from)
		if q.to.After(began) {
			c.quiet += q.to.Sub(began).Seconds()
		}
		for _, kind := range sortedKeys(a.destinations.messages) {
			if !q.concerns(kind) {
				continue
			}
			for _, s := range a.shownAbout(q.monitor, kind) {
				if s.at.After(began) && (q.to.IsZero() || s.at.Before(q.to)) && (q.noEnds || !s.isEnd()) {
					findings = append(findings, fmt.Sprintf("%s: %q was sent at %s (edited: %v), and from %s to %s: %s",
						kind, firstLine(s.text), formatTime(s.at), s.edited, formatTime(q.from), formatTime(q.to), q.reason))
				}
			}
		}
	}
	return findings
}

// concerns reports whether a channel is one of those in which the time is quiet. The one whose
// destination is deleted is no part of what holds for all.
func (q quietTime) concerns(kind channelKind) bool {
	return q.channels == nil && kind != deletedChannel || slices.Contains(q.channels, kind)
}

// shownAbout returns all that a channel showed about the incidents of a monitor; an empty one
// means everything.
func (a *audit) shownAbout(monitor string, kind channelKind) (all []shown) {
	for _, m := range a.destinations.messages[kind] {
		about := slices.IndexFunc(a.destinations.incidents, func(i incidentRecord) bool { return i.id == incidentOf(m) })
		if monitor == "" || about >= 0 && a.destinations.incidents[about].monitor == monitor {
			all = append(all, shownOf(m)...)
		}
	}
	return all
}

// checkAcknowledgements finds acknowledgements that are not stored once. It also finds incidents
// that woke somebody although they were acknowledged, and ends that do not say who had them.
func (a *audit) checkAcknowledgements() (findings []string) {
	for n, k := range a.operations.acknowledgements {
		at := slices.IndexFunc(a.destinations.incidents, func(i incidentRecord) bool { return i.id == k.incident })
		if at < 0 {
			continue // it was of a storm
		}
		i := a.destinations.incidents[at]
		lines := 0
		for _, by := range i.acknowledgements {
			if by == k.by {
				lines++
			}
		}
		if lines != 1 {
			findings = append(findings, fmt.Sprintf("the acknowledgement of incident %s by %s is stored %d times", i.id, k.by, lines))
		}
		// An earlier acknowledgement may have been replaced because the incident got worse.
		replaced := slices.ContainsFunc(a.operations.acknowledgements[n+1:], func(later acknowledgement) bool { return later.incident == k.incident })
		if replaced || !i.isHandled() || a.inStorm(i) || a.anotherBegan(i, k.at) {
			continue // it needed somebody again, or its storm was told
		}
		for _, f := range a.soundsAfter(i, a.settled(k.at)) {
			findings = append(findings, fmt.Sprintf("incident %s was acknowledged at %s: %s", i.id, formatTime(k.at), f))
		}
	}
	for _, i := range a.destinations.incidents {
		findings = append(findings, a.checkHandlerNamed(i)...)
	}
	return findings
}

// anotherBegan reports whether another condition of an incident was alerted after a time.
func (a *audit) anotherBegan(i incidentRecord, after time.Time) bool {
	known := map[string]bool{}
	for _, d := range a.deliveries {
		if a.incidentOfEvent(d.EventID) != i.id || strings.HasSuffix(d.EventType, "_recovered") {
			continue
		}
		if d.Received.After(after) && !known[d.EventType] {
			return true
		}
		known[d.EventType] = true
	}
	return false
}

// soundsAfter finds messages after a time that wake somebody for what somebody has. Only another
// condition may do so.
func (a *audit) soundsAfter(i incidentRecord, at time.Time) (findings []string) {
	for _, kind := range sortedKeys(a.destinations.messages) {
		for _, m := range a.messagesAbout(i, kind) {
			wakes := kind == pagerDutyChannel || traitsOf[kind].silent && m.Sound
			if wakes && m.PostedAt.After(at) && !strings.Contains(title(m), ", worse") {
				findings = append(findings, fmt.Sprintf("%s: %q was posted at %s and made a sound", kind, title(m), formatTime(m.PostedAt)))
			}
		}
	}
	return findings
}

// checkHandlerNamed finds ends of an incident that do not name who had it. An acknowledgement
// after the end changes no message.
func (a *audit) checkHandlerNamed(i incidentRecord) (findings []string) {
	_, ended, _ := a.lasted(i)
	late := slices.ContainsFunc(a.operations.acknowledgements, func(k acknowledgement) bool {
		return k.incident == i.id && k.by == i.acknowledgedBy && k.at.Add(sendMargin).After(ended)
	})
	if !i.isHandled() || i.reopened > 0 || late {
		return nil
	}
	for _, kind := range sortedKeys(a.destinations.messages) {
		t, _ := a.thread(i.id, kind)
		visible := a.messagesAbout(i, kind)
		if kind == pagerDutyChannel || !t.opened || len(visible) == 0 {
			continue // an alert names nobody
		}
		if last := a.presentMessage(t, kind, visible); !strings.Contains(last.Text, "Acknowledged by "+i.acknowledgedBy) {
			findings = append(findings, fmt.Sprintf("%s of incident %s: its last message does not say that it was acknowledged by %s: %q", kind, i.id, i.acknowledgedBy, last.Text))
		}
	}
	return findings
}

// isHandled reports whether somebody has an incident, and it has not got worse or come back
// since.
func (i incidentRecord) isHandled() bool {
	return i.acknowledgedBy != "" && i.severity <= i.acknowledgedSeverity
}

// handledAt returns when somebody took an incident that has not got worse since; zero: nobody did.
func (a *audit) handledAt(i incidentRecord) (at time.Time) {
	for _, k := range a.operations.acknowledgements {
		if k.incident == i.id && i.isHandled() && (at.IsZero() || k.at.Before(at)) {
			at = k.at
		}
	}
	return at
}

// mayBeUntold reports whether a channel may lack an incident: it was handled in time, or it ended
// before the channel could be told of it. That nobody was told takes a quiet time.
func (a *audit) mayBeUntold(i incidentRecord, kind channelKind) bool {
	if kind == pagerDutyChannel && i.isHandled() {
		return true
	}
	began, ended, told := a.lasted(i)
	if kind == pagerDutyChannel {
		began = began.Add(escalationDelay)
		if i.acknowledgedBy != "" && i.raisedAt.After(began) {
			began = i.raisedAt
		}
		if t, _ := a.thread(i.id, kind); t.storm != "" {
			began = began.Add(notify.StormPause) // it would be told by the storm
		}
	}
	due, held := a.audible(began, i.monitor, kind)
	if kind == pagerDutyChannel && !a.lasts(i, due) {
		return true
	}
	if at := a.handledAt(i); !at.IsZero() && at.Before(ended) {
		ended = at
	}
	if held {
		due = due.Add(a.pacing(kind))
	}
	return due.After(ended) && (told || held)
}

// pacing returns how long a channel may take, after a quiet time, until it is told of the last
// incident: they keep its rate limit, and half of it where an incident looks as if it lasted for
// an hour, because a clock is wrong (section 19.4).
func (a *audit) pacing(kind channelKind) time.Duration {
	channel, _ := notify.ChannelOf(notify.Kind(kind))
	others := max(0, len(a.destinations.incidents)-1)
	return time.Duration(others) * max(2*channel.RateLimit.Interval, time.Second)
}

// lasted returns when an incident began and ended, in true times. It begins with the first of its
// events that reaches the callback. It ends when a channel is told so. If no channel knows it, told
// is false, and ended is the time of its last event.
func (a *audit) lasted(i incidentRecord) (began, ended time.Time, told bool) {
	for _, d := range a.deliveries {
		if a.incidentOfEvent(d.EventID) != i.id {
			continue
		}
		if began.IsZero() {
			began = d.Received
		}
		ended = d.Received
	}
	ends := []time.Time{}
	for kind := range a.destinations.messages {
		for _, m := range a.messagesAbout(i, kind) {
			told = true
			for _, s := range shownOf(m) {
				if s.isEnd() {
					ends = append(ends, s.at)
				}
			}
		}
	}
	if len(ends) > 0 {
		ended = slices.MinFunc(ends, time.Time.Compare)
	}
	return began, ended, told
}

// lasts reports whether a condition of an incident lasts from a time on for sendMargin. What does
// not is not escalated then.
func (a *audit) lasts(i incidentRecord, at time.Time) bool {
	began := map[string]time.Time{} // by the type of the alert
	for _, d := range a.deliveries {
		if a.incidentOfEvent(d.EventID) != i.id {
			continue
		}
		happened := cmp.Or(d.Timestamp, d.Received)
		if late := d.Received.Sub(happened); late.Abs() > time.Minute {
			continue // the worker's clock is off, so nobody knows when it happened
		}
		alert, ends := strings.CutSuffix(d.EventType, "_recovered")
		if !ends {
			began[alert] = happened
		} else if since, known := began[alert]; known && !since.After(at) && !happened.Before(at.Add(sendMargin)) {
			return true
		}
	}
	return false
}

// incidentOfEvent returns the ID of the incident that an event belongs to; empty: none.
func (a *audit) incidentOfEvent(id string) string {
	for _, m := range a.monitors {
		for _, event := range m.events {
			if event.id == id {
				return event.incident
			}
		}
	}
	return ""
}

// audible returns until when everything has arrived at a channel that was to be told of a monitor
// at a time. If quiet times hold it back, held is true, and due is after the last of them.
func (a *audit) audible(at time.Time, monitor string, kind channelKind) (due time.Time, held bool) {
	due = a.settled(at)
	for extended := true; extended; { // one quiet time may follow another
		extended = false
		for _, q := range a.operations.quiet {
			over := notify.Forever
			if !q.to.IsZero() {
				over = a.settled(q.to.Add(replanInterval))
			}
			if q.concerns(kind) && (q.monitor == "" || q.monitor == monitor) && q.from.Before(due) && over.After(due) {
				due, held, extended = over, true, true
			}
		}
	}
	return due, held
}

// replanInterval is how long a gateway takes, at most, to find that a silence has ended or a
// route has changed (section 19.4).
const replanInterval = 2 * time.Second

// inStorm reports whether a storm tells of an incident at some channel.
func (a *audit) inStorm(i incidentRecord) bool {
	return slices.ContainsFunc(a.destinations.threads, func(t thread) bool { return t.about == i.id && t.storm != "" })
}
