//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// stamps: a webhook bears the time at which it was sent, as the gateway's clock
// had it. The receiver has seen to the 300 s of section 12.2.
func (a *audit) checkTimestamps() (findings []string) {
	for _, d := range a.deliveries {
		seconds, err := strconv.ParseInt(d.Header.Get("X-Timestamp"), 10, 64)
		if err != nil {
			continue // it is not verified, and that is said
		}
		if stamp := time.Unix(seconds, 0); !a.clockShowed(stamp, d.Received) {
			findings = append(findings, fmt.Sprintf("attempt %d of event %s came at %s and is of %s, which the gateway's clock did not show then",
				d.Attempt, d.EventID, formatTime(d.Received), formatTime(stamp)))
		}
	}
	return findings
}

// stamped tells whether the gateway's clock showed a stamp, which leaves out what
// is less than a second, at a time from which on it may have taken until received.
func (a *audit) clockShowed(stamp, received time.Time) bool {
	clocks := append([]clockSetting{{at: received.Add(-300 * time.Second)}}, a.clockSettings...)
	for i, c := range clocks {
		until := received
		if i+1 < len(clocks) && clocks[i+1].at.Before(until) {
			until = clocks[i+1].at
		}
		sent := stamp.Add(-c.offset)
		if sent.Add(time.Second+tolerance).After(c.at) && sent.Before(until.Add(tolerance)) {
			return true
		}
	}
	return false
}

// balance: accepted = delivered + pending + failed, and in the calm after all
// faults nothing is pending, and nothing has failed.
func (a *audit) checkDelivery(c *counters) (findings []string) {
	stored := map[string]storedEvent{}
	for _, m := range a.monitors {
		for _, event := range m.events {
			stored[event.id] = event
			c.events++
			if event.status != "sent" {
				findings = append(findings, fmt.Sprintf("monitor %d: %s %s is %s after %d attempts", m.number, event.eventType, event.id, event.status, event.attempts))
			}
		}
		if m.historyTotal != len(m.events) {
			findings = append(findings, fmt.Sprintf("monitor %d: its history lists %d events, the database holds %d", m.number, m.historyTotal, len(m.events)))
		}
	}
	for id := range a.acceptedEvents {
		if _, found := stored[id]; !found {
			c.lost++
			findings = append(findings, fmt.Sprintf("lost: event %s was accepted and is not in the database", id))
		}
	}
	delivered := map[string]bool{}
	for _, d := range a.deliveries {
		c.deliveries++
		event, found := stored[d.EventID]
		switch {
		case !found:
			findings = append(findings, fmt.Sprintf("%s %s was delivered and is not in the database", d.EventType, d.EventID))
		case event.body != string(d.Body):
			findings = append(findings, fmt.Sprintf("attempt %d of event %s has other bytes than are stored", d.Attempt, d.EventID))
		case !d.Verified:
			findings = append(findings, fmt.Sprintf("attempt %d of event %s is not verified: %s", d.Attempt, d.EventID, d.Problem))
		}
		delivered[d.EventID] = delivered[d.EventID] || d.Accepted
	}
	for id, event := range stored {
		if event.status == "sent" && !delivered[id] {
			c.lost++
			findings = append(findings, fmt.Sprintf("lost: %s %s counts as sent and has never been accepted", event.eventType, id))
		}
	}
	return findings
}

// inOrder: per monitor first in, first out, and nothing is tried before what
// comes before it has been accepted.
func (a *audit) checkOrder() (findings []string) {
	for _, m := range a.monitors {
		done := map[string]bool{}
		next := 0
		for _, d := range a.deliveries {
			if d.MonitorID != m.id {
				continue
			}
			at := slices.IndexFunc(m.events, func(event storedEvent) bool { return event.id == d.EventID })
			if at > next {
				findings = append(findings, fmt.Sprintf("monitor %d: %s was delivered before %s, which comes first", m.number, d.EventType, m.events[next].eventType))
				next = at
			}
			if d.Accepted {
				done[d.EventID] = true
			}
			for next < len(m.events) && done[m.events[next].id] {
				next++
			}
		}
	}
	return findings
}

// A fault explains a repetition if it is this near to the delivery, whose outcome
// is recorded within milliseconds, or else again and again until the lease is
// over; and if the repetition comes before it can have had other reasons.
const (
	causeWindow        = time.Second
	maxRedeliveryDelay = 35 * time.Second // a lease, and a margin
)

// repeats: whatever is delivered again after it had been accepted has a fault
// that explains it.
func (a *audit) checkRedeliveries(c *counters) (findings []string) {
	first := map[string]time.Time{}
	for _, d := range a.deliveries {
		at, again := first[d.EventID]
		if again {
			c.redelivered++
			if why := a.redeliveryCause(at.Add(-tolerance), at.Add(causeWindow)); why == "" || d.Received.Sub(at) > maxRedeliveryDelay {
				findings = append(findings, fmt.Sprintf("told twice: %s %s, accepted at %s, came again at %s, and no fault explains it",
					d.EventType, d.EventID, formatTime(at), formatTime(d.Received)))
			}
		} else if d.Accepted {
			first[d.EventID] = d.Received
		}
	}
	return findings
}

// troubleWithin is a fault between two instants that can have a webhook
// delivered twice.
func (a *audit) redeliveryCause(from, to time.Time) string {
	for _, inj := range a.injected {
		if a.canCauseRedelivery(inj) && inj.from.Before(to) && inj.to.After(from) {
			return inj.name
		}
	}
	for _, outage := range a.gatewayOutages() {
		if a.canCauseRedelivery(outage) && outage.from.Before(to) && outage.to.After(from) {
			return outage.name
		}
	}
	return ""
}

// explains tells whether a fault can have a webhook delivered twice: its answer,
// or what is kept of it, does not get where it should.
func (a *audit) canCauseRedelivery(inj injection) bool {
	switch inj.component {
	case databaseComponent, receiverComponent:
		return true
	case gatewayComponent:
		return inj.name != gatewayRestarted // in good order
	case diskComponent:
		return inj.name == databaseDiskFull || !a.schedule.externalDatabase
	}
	return false
}

// comingBack is how long a database takes to answer that has been killed.
const databaseRestartTime = 3 * time.Second

// ends: a gateway ends when it is told to, or is killed; one that starts while
// there is no database gives up, and is started again.
func (a *audit) checkGatewayExits() (findings []string) {
	for n, run := range a.gatewayRuns {
		if run.endedAt.IsZero() || run.killed || run.stopped || run.crashed {
			continue
		}
		excused := run.readyAt.IsZero() && slices.ContainsFunc(a.injected, func(inj injection) bool {
			return (inj.component == databaseComponent || inj.component == diskComponent || inj.name == allKilled) &&
				inj.from.Before(run.endedAt) && inj.to.After(run.startedAt.Add(-databaseRestartTime))
		})
		if !excused {
			findings = append(findings, fmt.Sprintf("gateway %d ended by itself at %s; its log ends:\n%s", n+1, formatTime(run.endedAt), run.service.Tail(5)))
		}
	}
	return findings
}
