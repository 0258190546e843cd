//go:build linux

package main

import (
	"slices"
	"strings"
	"time"
)

// sendMargin is how long a message may take that was being sent when a destination
// was deleted or an incident was acknowledged.
const sendMargin = 2 * time.Second

// settled returns when everything has arrived that was being sent at a time. Faults that
// last at that time delay it, but those of workers only delay what there is to tell.
func (a *audit) settled(at time.Time) time.Time {
	others := []component{workerComponent, toolComponent, reportComponent, peopleComponent}
	settled := at.Add(sendMargin)
	for extended := true; extended; { // one fault may follow another
		extended = false
		for _, inj := range a.injected {
			if !slices.Contains(others, inj.component) && inj.from.Before(settled) && inj.to.After(at.Add(-time.Second)) && inj.to.Add(sendMargin).After(settled) {
				settled, extended = inj.to.Add(sendMargin), true
			}
		}
	}
	return settled
}

// checkDeleted finds what a deleted destination got.
func (a *audit) checkDeleted() {
	for _, m := range a.messages[deletedChannel] {
		if at := a.deletedAt; !at.IsZero() && m.PostedAt.After(a.settled(at)) {
			a.find("the destination that was deleted at %s got %q at %s", formatTime(at), title(m), formatTime(m.PostedAt))
		}
	}
}

// checkAcknowledgements finds acknowledgements that are not stored once, and incidents that
// woke somebody although they were acknowledged.
func (a *audit) checkAcknowledgements() {
	for n, k := range a.acknowledgements {
		at := slices.IndexFunc(a.incidents, func(i incidentRecord) bool { return i.id == k.incident })
		if at < 0 {
			a.findLost("incident %s, which %s acknowledged", k.incident, k.by)
			continue
		}
		i := a.incidents[at]
		stored := 0
		for _, by := range i.acknowledgements {
			if by == k.by {
				stored++
			}
		}
		if stored != 1 {
			a.find("the acknowledgement of incident %s by %s is stored %d times", i.id, k.by, stored)
		}
		// An earlier acknowledgement may have been replaced because the incident got worse.
		replaced := slices.ContainsFunc(a.acknowledgements[n+1:], func(later acknowledgement) bool { return later.incident == k.incident })
		if !replaced && i.handled && !a.anotherBegan(i, k.at) {
			a.checkQuietAfter(i, k.at)
		}
	}
}

// wakingChannels make a sound with a message only if it is to wake somebody. The others
// always make one.
var wakingChannels = []string{"pagerduty", "telegram", "discord", "line", "ntfy"}

// checkQuietAfter finds messages that wake somebody for an incident after its acknowledgement.
func (a *audit) checkQuietAfter(i incidentRecord, acknowledged time.Time) {
	settled := a.settled(acknowledged)
	for _, name := range wakingChannels {
		if a.threads[threadKey{i.id, name}].inStorm {
			continue // the storm was told
		}
		for _, m := range a.messagesAbout(i, name) {
			if m.Sound && m.PostedAt.After(settled) && !strings.Contains(title(m), ", worse") {
				a.find("%s: %q was posted at %s and made a sound, but incident %s was acknowledged at %s",
					name, title(m), formatTime(m.PostedAt), i.id, formatTime(acknowledged))
			}
		}
	}
}

// anotherBegan reports whether another condition of an incident was alerted after a time.
func (a *audit) anotherBegan(i incidentRecord, after time.Time) bool {
	known := map[string]bool{}
	for _, d := range a.callbacks {
		if a.incidentOfEvent[d.EventID] != i.id || strings.HasSuffix(d.EventType, "_recovered") {
			continue
		}
		if d.Received.After(after) && !known[d.EventType] {
			return true
		}
		known[d.EventType] = true
	}
	return false
}
