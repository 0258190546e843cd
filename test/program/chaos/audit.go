//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// What the audit tolerates.
const (
	tolerance  = 500 * time.Millisecond // of a time that comes from the media, as in the acceptance tests
	reportTime = 2 * time.Second        // until a worker has reported what it has seen

	// A fault explains that something came again if it is near the first acceptance: outcomes are
	// stored within milliseconds. What comes later than a lease lasts has other causes.
	causeWindow        = time.Second
	maxRepetitionDelay = 35 * time.Second

	// Bounds on the time without a segment request, on a busy machine. Another gateway may start a new
	// monitor only 10 s after its registration.
	maxGap             = 8 * time.Second // beyond the check interval, without a fault
	maxGapAfterFault   = 20 * time.Second
	maxGapOfNewMonitor = 30 * time.Second
)

// The numbers of a result.
const (
	episodes   = "episodes"
	unreported = "unreported" // episodes, while a fault was active
	repeated   = "repeated"   // deliveries and messages, because of a fault
)

// audit holds what is known of a run, and what is wrong with it.
type audit struct {
	mu       sync.Mutex
	findings []string // one line for each violation
	injected []*injection
	numbers  map[string]int

	accepted []string // IDs of the events of reports that a gateway has stored
	events   []storedEvent
	threads  []thread
}

// storedEvent is an event in the database.
type storedEvent struct {
	ID      string               `json:"event_id"`
	Monitor string               `json:"monitor_id"`
	Type    string               `json:"event_type"`
	Data    webhookreceiver.Data `json:"data"`
}

func (a *audit) find(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.findings = append(a.findings, fmt.Sprintf(format, args...))
}

func (a *audit) count(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.numbers[name]++
}

func (a *audit) addInjection(inj *injection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.injected = append(a.injected, inj)
}

// end ends what has lasted until now.
func (a *audit) end(inj *injection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	inj.to = time.Now()
}

// rules are what holds in the database at the end of a run. Each query returns the violations.
var rules = []string{
	`SELECT format('%s %s of %s is %s', event_type, id, monitor_id, webhook_status) FROM monitor_events WHERE webhook_status <> 'sent'`,
	`SELECT format('the events of %s are not from one start to one end: %s', monitor_id, string_agg(event_type, ' ' ORDER BY seq)) FROM monitor_events
		GROUP BY monitor_id HAVING string_agg(event_type, ' ' ORDER BY seq) !~ '^stream.started( alert[.]\w+)* stream.ended$'
		OR count(*) FILTER (WHERE event_type LIKE '%\_recovered') * 2 <> count(*) FILTER (WHERE event_type LIKE 'alert.%')`,
	`SELECT format('incident %s is %s', id, state) FROM incidents WHERE state <> 'resolved'`,
	`SELECT format('storm %s is not over', id) FROM deliveries WHERE storm IS NOT NULL AND NOT storm ? 'resolved_at'`,
	`SELECT format('lost: nobody was told of incident %s', i.id) FROM incidents i WHERE NOT EXISTS (
		SELECT FROM deliveries x WHERE x.incident_id = i.id AND (x.storm_id IS NOT NULL OR (x.told->>'opened')::boolean))`,
	`SELECT format('the thread of %s at %s has failed: %s', x.incident_id, d.name, x.last_error)
		FROM deliveries x JOIN destinations d ON d.id = x.destination_id WHERE x.state = 'failed'`,
	`SELECT format('evidence %s is of event %s, which is not stored', id, event_id) FROM evidence WHERE event_id NOT IN (SELECT id FROM monitor_events)`,
	`SELECT format('event %s has %s records of its %s', event_id, count(*), phase) FROM evidence GROUP BY event_id, phase HAVING count(*) > 1`,
	`SELECT format('lost: the bytes of a file of evidence %s', f.evidence_id) FROM evidence_files f WHERE f.size IS DISTINCT FROM (
		SELECT sum(length(c.data)) FROM blobs b JOIN blob_chunks c ON c.upload = b.upload WHERE b.sha256 = f.sha256 AND b.complete)`,
}

// collect reads what the database holds at the end of a run, and finds what breaks a rule.
func (env *environment) collect(ctx context.Context) error {
	a := &env.audit
	text, err := os.ReadFile(env.path("accepted"))
	if err != nil {
		return err
	}
	a.accepted = strings.Fields(string(text))
	bodies, err := env.texts(ctx, `SELECT body FROM monitor_events ORDER BY seq`)
	if err != nil {
		return err
	}
	for _, body := range bodies {
		var e storedEvent
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			return fmt.Errorf("%w: %s", err, body)
		}
		a.events = append(a.events, e)
	}
	for _, query := range rules {
		violations, err := env.texts(ctx, query)
		if err != nil {
			return err
		}
		for _, violation := range violations {
			a.find("%s", violation)
		}
	}
	return env.collectThreads(ctx)
}

// check checks what was collected.
func (env *environment) check() {
	a := &env.audit
	for _, id := range a.accepted {
		if !slices.ContainsFunc(a.events, func(e storedEvent) bool { return e.ID == id }) {
			a.find("lost: event %s was accepted and is not stored", id)
		}
	}
	for name, r := range env.receivers() {
		a.checkDeliveries(name, r.All())
	}
	for _, m := range env.monitors {
		m.requests = env.segmentRequests(m)
		a.checkEpisodes(m, m.expected(env.startedAt))
		a.checkCoverage(m)
	}
	for _, t := range a.threads {
		a.checkThread(t)
	}
}

// receivers are those of webhooks by name.
func (env *environment) receivers() map[string]*webhookreceiver.Receiver {
	return map[string]*webhookreceiver.Receiver{"callback": env.callback, "webhook destination": env.webhook}
}

// checkDeliveries checks that a receiver got every event, in the order of its monitor, and again
// only because of a fault.
func (a *audit) checkDeliveries(receiver string, deliveries []webhookreceiver.Delivery) {
	before, previous := map[string]string{}, map[string]string{} // the event before; the last event of a monitor
	for _, e := range a.events {
		before[e.ID], previous[e.Monitor] = previous[e.Monitor], e.ID
	}
	first := map[string]time.Time{} // when an event was accepted
	for _, d := range deliveries {
		about := fmt.Sprintf("%s: attempt %d of %s %s", receiver, d.Attempt, d.EventType, d.EventID)
		if !d.Verified {
			a.find("%s is not verified: %s", about, d.Problem)
		}
		if earlier := before[d.EventID]; earlier != "" && first[earlier].IsZero() {
			a.find("%s came before the earlier event %s was accepted", about, earlier)
		}
		if at, again := first[d.EventID]; again {
			a.numbers[repeated]++
			if !a.explainsRepetition(at, d.Received) {
				a.find("%s came again at %s, was accepted at %s, and no fault explains it", about, formatTime(d.Received), formatTime(at))
			}
		} else if d.Accepted {
			first[d.EventID] = d.Received
		}
	}
	a.numbers["deliveries"] += len(deliveries)
	for _, e := range a.events {
		if first[e.ID].IsZero() {
			a.find("lost: the %s never accepted %s %s of %s", receiver, e.Type, e.ID, e.Monitor)
		}
	}
}

// explainsRepetition reports whether a fault may have lost the answer to what a receiver
// accepted, or the record of it, so that it was sent again.
func (a *audit) explainsRepetition(accepted, again time.Time) bool {
	return again.Sub(accepted) <= maxRepetitionDelay && slices.ContainsFunc(a.injected, func(inj *injection) bool {
		return inj.losesOutcomes && inj.overlaps(accepted.Add(-tolerance), accepted.Add(causeWindow))
	})
}

// overlaps reports whether a fault was active between two times.
func (inj *injection) overlaps(from, to time.Time) bool {
	return inj.from.Before(to) && (inj.to.IsZero() || inj.to.After(from))
}

// checkEpisodes checks that the events of a monitor tell each blackout and silence once and with
// its times. A fault may make a time late, and hide what is between two episodes.
func (a *audit) checkEpisodes(m *monitorUnderTest, expected []episode) {
	near := func(want, got time.Time) bool {
		return want.Sub(got).Abs() <= tolerance || want.Before(got) && a.disturbed(m, want, got)
	}
	var reported []episode
	for _, e := range a.events {
		condition, recovers := strings.CutSuffix(strings.TrimPrefix(e.Type, "alert."), "_recovered")
		if e.Monitor != m.id || !recovers {
			continue
		}
		got := episode{condition, e.Data.StartedAt, e.Data.RecoveredAt}
		reported = append(reported, got)
		if !slices.ContainsFunc(expected, func(first episode) bool {
			return first.overlaps(got) && near(first.from, got.from) && slices.ContainsFunc(expected, func(last episode) bool {
				joined := first.to.Before(last.from) && a.disturbed(m, first.to, last.from)
				return last.overlaps(got) && near(last.to, got.to) && (last == first || joined)
			})
		}) {
			a.find("monitor %s: a %s from %s to %s was reported, and there was none", m.id, condition, formatTime(got.from), formatTime(got.to))
		}
	}
	for _, want := range expected {
		a.numbers[episodes]++
		times := 0
		for _, got := range reported {
			if got.overlaps(want) {
				times++
			}
		}
		switch {
		case times > 1:
			a.find("monitor %s: the %s from %s was reported %d times", m.id, want.condition, formatTime(want.from), times)
		case times == 0 && a.disturbed(m, want.from, want.to.Add(reportTime)):
			a.numbers[unreported]++
		case times == 0:
			a.find("lost: monitor %s: the %s from %s to %s was not reported", m.id, want.condition, formatTime(want.from), formatTime(want.to))
		}
	}
}

func (inj *injection) concerns(m *monitorUnderTest) bool {
	return inj.monitor == "" || inj.monitor == m.id
}

// disturbed reports whether a fault was active between two times, or a monitor was not yet
// watched then.
func (a *audit) disturbed(m *monitorUnderTest, from, to time.Time) bool {
	return len(m.requests) == 0 || m.requests[0].at.After(from) || slices.ContainsFunc(a.injected, func(inj *injection) bool {
		return inj.concerns(m) && inj.overlaps(from.Add(-reportTime), to)
	})
}

// checkCoverage finds times without segment requests that are longer than the
// faults explain, from the registration on.
func (a *audit) checkCoverage(m *monitorUnderTest) {
	if len(m.requests) == 0 {
		a.find("monitor %s: no segment was ever requested", m.id)
	}
	last := m.registeredAt
	for i, request := range m.requests {
		since, limit := last, time.Duration(m.script.interval)*time.Second+maxGap
		for _, inj := range a.injected {
			if inj.concerns(m) && inj.overlaps(last.Add(-reportTime), request.at) {
				limit = maxGapAfterFault
				if inj.to.After(since) {
					since = inj.to
				}
			}
		}
		if i == 0 {
			limit = maxGapOfNewMonitor
		}
		if request.at.Sub(since) > limit {
			a.find("monitor %s: no segment was requested from %s to %s (%.1f s); the last fault nearby ended at %s",
				m.id, formatTime(last), formatTime(request.at), request.at.Sub(last).Seconds(), formatTime(since))
		}
		last = request.at
	}
}
