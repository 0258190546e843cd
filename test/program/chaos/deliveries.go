//go:build linux

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// checkTimestamps finds webhooks whose X-Timestamp no gateway's clock showed. The receiver
// has checked the 300 s of section 12.2.
func (a *audit) checkTimestamps() (findings []string) {
	for _, d := range a.deliveries {
		seconds, err := strconv.ParseInt(d.Header.Get("X-Timestamp"), 10, 64)
		if err != nil {
			continue // checkDelivery reports it as not verified
		}
		if timestamp := time.Unix(seconds, 0); !a.clockShowed(timestamp, d.Received) {
			findings = append(findings, fmt.Sprintf("attempt %d of event %s arrived at %s with X-Timestamp %s, which no gateway's clock showed then",
				d.Attempt, d.EventID, formatTime(d.Received), formatTime(timestamp)))
		}
	}
	return findings
}

// clockShowed reports whether a gateway's clock showed timestamp, in whole
// seconds, before the webhook was received.
func (a *audit) clockShowed(timestamp, received time.Time) bool {
	return slices.ContainsFunc(a.clocks, func(settings []clockSetting) bool {
		return showed(settings, timestamp, received)
	})
}

// showed reports whether a clock with these settings showed timestamp before received.
func showed(settings []clockSetting, timestamp, received time.Time) bool {
	settings = append([]clockSetting{{at: received.Add(-300 * time.Second)}}, settings...)
	for i, c := range settings {
		until := received
		if i+1 < len(settings) && settings[i+1].at.Before(until) {
			until = settings[i+1].at
		}
		sent := timestamp.Add(-c.offset)
		if sent.Add(time.Second+tolerance).After(c.at) && sent.Before(until.Add(tolerance)) {
			return true
		}
	}
	return false
}

// checkDelivery finds lost, failed and altered events. Every accepted event
// must be stored, and every stored event must be delivered with the stored
// bytes.
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
		case event.body != withoutEvidence(string(d.Body)):
			findings = append(findings, fmt.Sprintf("attempt %d of event %s differs from the stored bytes", d.Attempt, d.EventID))
		case !d.Verified:
			findings = append(findings, fmt.Sprintf("attempt %d of event %s is not verified: %s", d.Attempt, d.EventID, d.Problem))
		}
		delivered[d.EventID] = delivered[d.EventID] || d.Accepted
	}
	for id, event := range stored {
		if event.status == "sent" && !delivered[id] {
			c.lost++
			findings = append(findings, fmt.Sprintf("lost: %s %s is stored as sent and was never accepted", event.eventType, id))
		}
	}
	return findings
}

// checkOrder finds events that were delivered before an earlier event of the
// same monitor was accepted.
func (a *audit) checkOrder() (findings []string) {
	for i := range a.monitors {
		findings = append(findings, ordered(&a.monitors[i], a.deliveries)...)
	}
	return findings
}

// ordered finds deliveries of a monitor's events before an earlier event was accepted, but
// those at times that mayOvertake allows.
func ordered(m *monitorRecord, deliveries []webhookreceiver.Delivery) (findings []string) {
	accepted := map[string]bool{}
	next := 0
	for _, d := range deliveries {
		if d.MonitorID != m.id {
			continue
		}
		at := slices.IndexFunc(m.events, func(event storedEvent) bool { return event.id == d.EventID })
		if at > next {
			findings = append(findings, fmt.Sprintf("monitor %d: %s was delivered before the earlier %s", m.number, d.EventType, m.events[next].eventType))
			next = at
		}
		if d.Accepted {
			accepted[d.EventID] = true
		}
		for next < len(m.events) && accepted[m.events[next].id] {
			next++
		}
	}
	return findings
}

// A fault explains a redelivery if it is within causeWindow of the first
// acceptance: outcomes are stored within milliseconds. The redelivery must
// follow within maxRedeliveryDelay; later ones have other causes.
const (
	causeWindow        = time.Second
	maxRedeliveryDelay = 35 * time.Second // the duration of a lease and a margin
)

// checkRedeliveries finds events that were delivered again after they had been
// accepted, without a fault that explains it.
func (a *audit) checkRedeliveries(c *counters) (findings []string) {
	c.redelivered, findings = a.redeliveries(a.deliveries)
	return findings
}

// redeliveries counts the deliveries of events that had been accepted before, and finds those
// that no fault explains.
func (a *audit) redeliveries(deliveries []webhookreceiver.Delivery) (count int, findings []string) {
	first := map[string]time.Time{}
	for _, d := range deliveries {
		at, again := first[d.EventID]
		if again {
			count++
			if cause := a.redeliveryCause(at.Add(-tolerance), at.Add(causeWindow)); cause == "" || d.Received.Sub(at) > maxRedeliveryDelay {
				findings = append(findings, fmt.Sprintf("redelivered: %s %s, accepted at %s, arrived again at %s, and no fault explains it",
					d.EventType, d.EventID, formatTime(at), formatTime(d.Received)))
			}
		} else if d.Accepted {
			first[d.EventID] = d.Received
		}
	}
	return count, findings
}

// redeliveryCause names a fault between two times that can cause a redelivery.
// It returns an empty string if it finds no such fault.
func (a *audit) redeliveryCause(from, to time.Time) string {
	for _, inj := range a.injected {
		ended := inj.to
		if inj.name == receiverSlow {
			ended = ended.Add(receiverDelay) // its sender may have been killed meanwhile
		}
		if a.canCauseRedelivery(inj) && inj.from.Before(to) && ended.After(from) {
			return cmp.Or(inj.name, "a fault that was attempted")
		}
	}
	for _, run := range a.gatewayRuns {
		orderly := run.stopped && !run.killed // it has stored every outcome
		if !run.endedAt.IsZero() && !orderly && run.endedAt.Add(-tolerance).Before(to) && run.endedAt.Add(tolerance).After(from) {
			return "the end of a gateway"
		}
	}
	return ""
}

// canCauseRedelivery reports whether a fault can lose the response to a webhook
// or the record of its outcome.
func (a *audit) canCauseRedelivery(inj injection) bool {
	switch inj.component {
	case databaseComponent, receiverComponent:
		return true
	case gatewayComponent:
		return inj.name != gatewayRestarted // an orderly restart stores every outcome
	case diskComponent:
		return inj.name == databaseDiskFull || !a.schedule.externalDatabase
	}
	return false
}

// databaseRestartTime is how long a killed database takes to answer again.
const databaseRestartTime = 3 * time.Second

// checkGatewayExits finds gateways that ended without being killed or stopped.
// A gateway that starts while the database is down may give up; it is started
// again.
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

// withoutEvidence returns the stored payload of a webhook: the optional evidence is its last
// member (section 4.2).
func withoutEvidence(body string) string {
	if payload, _, is := strings.Cut(body, `,"evidence":{"evidence_id"`); is {
		return payload + "}"
	}
	return body
}
