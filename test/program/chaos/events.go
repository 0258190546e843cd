//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// checkEvents finds events that are not stored, and checks the deliveries of all that are.
func (a *audit) checkEvents() {
	stored := map[string]bool{}
	for _, m := range a.monitors {
		for _, e := range m.events {
			stored[e.id] = true
			a.counters.events++
			if e.status != "sent" {
				a.find("monitor %d: %s %s is %s after %d attempts", m.number, e.eventType, e.id, e.status, e.attempts)
			}
		}
		if int(m.historyTotal) != len(m.events) {
			a.find("monitor %d: its history lists %v events, the database holds %d", m.number, m.historyTotal, len(m.events))
		}
	}
	for id := range a.accepted {
		if !stored[id] {
			a.findLost("event %s was accepted and is not in the database", id)
		}
	}
	a.checkDeliveries("the callback", a.callbacks, func(e storedEvent, _ int) string { return e.body })
	a.checkDeliveries("the webhook destination", a.webhooks, func(e storedEvent, n int) string {
		return fmt.Sprintf(`%s,"sequence":%d}`, strings.TrimSuffix(e.body, "}"), n+1)
	})
}

// checkDeliveries checks that a receiver got every event of every monitor: unaltered, in
// order, and again only because of a fault. body returns the payload of a monitor's nth event.
func (a *audit) checkDeliveries(receiver string, deliveries []webhookreceiver.Delivery, body func(e storedEvent, n int) string) {
	type expectation struct{ previous, body string } // previous: the ID of the event before
	expected := map[string]expectation{}
	for _, m := range a.monitors {
		previous := ""
		for n, e := range m.events {
			expected[e.id] = expectation{previous, body(e, n)}
			previous = e.id
		}
	}
	first := map[string]time.Time{} // when an event was accepted
	for _, d := range deliveries {
		a.counters.deliveries++
		about := fmt.Sprintf("%s: attempt %d of %s %s", receiver, d.Attempt, d.EventType, d.EventID)
		want, found := expected[d.EventID]
		switch {
		case !found:
			a.find("%s is not in the database", about)
		case want.body != withoutEvidence(string(d.Body)):
			a.find("%s differs from the stored bytes", about)
		case !d.Verified:
			a.find("%s is not verified: %s", about, d.Problem)
		case want.previous != "" && first[want.previous].IsZero():
			a.find("%s came before the earlier event %s was accepted", about, want.previous)
		}
		if at, again := first[d.EventID]; again {
			a.counters.repeated++
			if !a.explainsRepetition(at, d.Received) {
				a.find("%s came again at %s, was accepted at %s, and no fault explains it", about, formatTime(d.Received), formatTime(at))
			}
		} else if d.Accepted {
			first[d.EventID] = d.Received
		}
	}
	for _, m := range a.monitors {
		for _, e := range m.events {
			if first[e.id].IsZero() {
				a.findLost("monitor %d: %s never accepted %s %s", m.number, receiver, e.eventType, e.id)
			}
		}
	}
}

// withoutEvidence returns the stored payload of a webhook: the optional evidence is its last
// member (section 4.2).
func withoutEvidence(body string) string {
	if payload, _, is := strings.Cut(body, `,"evidence":{"evidence_id"`); is {
		return payload + "}"
	}
	return body
}

// A fault explains a repetition if it is within causeWindow of the first
// acceptance: outcomes are stored within milliseconds. The repetition must
// follow within maxRepetitionDelay; later ones have other causes.
const (
	causeWindow        = time.Second
	maxRepetitionDelay = 35 * time.Second // the duration of a lease and a margin
)

// explainsRepetition reports whether a fault may have lost the answer to what a receiver
// accepted, or the record of it, so that it was sent again.
func (a *audit) explainsRepetition(accepted, again time.Time) bool {
	from, to := accepted.Add(-tolerance), accepted.Add(causeWindow)
	if again.Sub(accepted) > maxRepetitionDelay {
		return false
	}
	return slices.ContainsFunc(a.injected, func(inj injection) bool {
		ended := inj.to
		if inj.name == receiverSlow {
			ended = ended.Add(receiverDelay) // its sender may have been killed meanwhile
		}
		return a.canLoseAnswers(inj) && inj.from.Before(to) && ended.After(from)
	}) || slices.ContainsFunc(a.gatewayRuns, func(run gatewayRun) bool {
		orderly := run.stopped && !run.killed // it has stored every outcome
		return !run.endedAt.IsZero() && !orderly && run.endedAt.Add(-tolerance).Before(to) && run.endedAt.Add(tolerance).After(from)
	})
}

// canLoseAnswers reports whether a fault can lose the answer to a delivery or the record
// of its outcome.
func (a *audit) canLoseAnswers(inj injection) bool {
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

// checkMonitor checks a monitor's end, its statistics, and the checks that have files of
// their own.
func (a *audit) checkMonitor(m *monitorRecord) {
	if m.status != "completed" {
		a.find("monitor %d: its final status is %s", m.number, m.status)
	}
	for _, condition := range []string{"blackout", "silence"} {
		sent := 0
		for _, e := range m.events {
			if e.eventType == "alert."+condition {
				sent++
			}
		}
		if n := m.statistics[condition+"_events"]; n != float64(sent) {
			a.find("monitor %d: its statistics count %v of alert.%s, and %d were sent", m.number, n, condition, sent)
		}
	}
	a.checkEpisodes(m)
	a.checkEvidence(m)
	a.checkCoverage(m)
}

// episode is a blackout or a silence, of a stream or as events report it.
type episode struct {
	condition string // blackout, silence
	from, to  time.Time
}

// reportTime is how long a worker may take to report what it has seen.
const reportTime = 2 * time.Second

// checkEpisodes checks that the events of a monitor tell one start, one end, and between them
// each blackout and silence once and with its times.
func (a *audit) checkEpisodes(m *monitorRecord) {
	reported := a.reportedEpisodes(m)
	for n, got := range reported {
		begins := slices.ContainsFunc(m.expected, func(want episode) bool {
			late := want.from.Before(got.from) && want.to.After(got.from) && a.disturbed(m, want.from, got.from)
			return want.condition == got.condition && (want.from.Sub(got.from).Abs() <= tolerance || late)
		})
		ends := slices.ContainsFunc(m.expected, func(want episode) bool {
			return want.condition == got.condition && want.to.Sub(got.to).Abs() <= tolerance
		})
		if !begins || !ends {
			a.find("monitor %d: a %s from %s to %s was reported, and there was none", m.number, got.condition, formatTime(got.from), formatTime(got.to))
		}
		if slices.ContainsFunc(reported[:n], func(other episode) bool { return other.overlaps(got) }) {
			a.find("monitor %d: the %s from %s was reported twice", m.number, got.condition, formatTime(got.from))
		}
	}
	for _, want := range m.expected {
		a.counters.episodes++
		switch {
		case slices.ContainsFunc(reported, want.overlaps):
		case a.disturbed(m, want.from, want.to.Add(reportTime)):
			a.counters.unreported++
		default:
			a.findLost("monitor %d: the %s from %s to %s was not reported", m.number, want.condition, formatTime(want.from), formatTime(want.to))
		}
	}
}

func (e episode) overlaps(other episode) bool {
	return e.condition == other.condition && e.from.Before(other.to) && other.from.Before(e.to)
}

// reportedEpisodes returns the episodes that a monitor's events report. Alerts and recoveries
// must alternate between the start and the end of the stream.
func (a *audit) reportedEpisodes(m *monitorRecord) (episodes []episode) {
	if len(m.events) < 2 {
		a.find("monitor %d: it has %d events, which are no start and end", m.number, len(m.events))
	}
	unique := []string{"stream.started", "stream.ended", "monitor.error"}
	open := map[string]episode{}
	for n, e := range m.events {
		var body struct {
			Data webhookreceiver.Data `json:"data"`
		}
		err := json.Unmarshal([]byte(e.body), &body)
		condition, isAlert := strings.CutPrefix(e.eventType, "alert.")
		condition, recovers := strings.CutSuffix(condition, "_recovered")
		before, isOpen := open[condition]
		switch { // first the events in their places, then those that are out of place
		case n == 0 && e.eventType == unique[0], n > 0 && n == len(m.events)-1 && e.eventType == unique[1]:
		case n == 0, n == len(m.events)-1, slices.Contains(unique, e.eventType), err != nil,
			isAlert && (recovers != isOpen || recovers && !before.from.Equal(body.Data.StartedAt)):
			a.find("monitor %d: event %d of %d does not follow from those before it: %s", m.number, n+1, len(m.events), e.body)
		case recovers:
			episodes = append(episodes, episode{condition, before.from, body.Data.RecoveredAt})
			delete(open, condition)
		case isAlert:
			open[condition] = episode{condition: condition, from: body.Data.StartedAt}
		}
	}
	for condition := range open {
		a.find("monitor %d: its last %s has no recovery", m.number, condition)
	}
	return episodes
}
