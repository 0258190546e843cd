//go:build linux

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// tolerance is how far a time that comes from the media may be from the
// expected one, as in the acceptance tests.
const tolerance = 500 * time.Millisecond

// audit holds the expected episodes and the recorded events of a run, and
// compares them.
type audit struct {
	schedule schedule
	findings []string // of the checks made during the run

	monitors       []monitorRecord
	acceptedEvents map[string]bool            // events of reports that the gateway answered with 2xx
	deliveries     []webhookreceiver.Delivery // in order of arrival
	injected       []injection
	clocks         [][]clockSetting // of each gateway, in order
	missed         []string
	operations     operationRecords
	gatewayRuns    []gatewayRun // those of a gateway one after the other
	workerExits    []workerExit

	gatewayErrors []string

	destinationDeliveries []webhookreceiver.Delivery // at the webhook destination, in order of arrival
	destinations          destinationRecords
}

// counters are the numbers of the summary.
type counters struct {
	injected map[string]int
	replaced map[string]int // by the fault type that this machine does not allow
	missed   map[string]int // found no target
	crashes  map[string]int

	events, deliveries, lost int
	redelivered              int // deliveries of events that had been accepted before
	episodes, unobserved     int // unobserved: no worker could have reported it
	recoveries               map[string][]time.Duration

	webhooks, messages int            // that destinations got
	undelivered        int            // events and incidents that did not reach a destination
	repeated           map[string]int // what a destination got again, by its name

	operations map[string]int // that were done
	planned    map[string]int // those that found no target included
	quiet      float64        // seconds in which nothing but ends was to be sent, and that were checked
}

// monitorRecord is everything that is known of one monitor.
type monitorRecord struct {
	number       int
	id           string
	interval     time.Duration
	expected     []episode
	liveAt       time.Time // when its stream went live
	registeredAt time.Time
	endedAt      time.Time
	requests     []segmentRequest
	events       []storedEvent // in the order of delivery (seq)
	status       string
	statistics   map[string]float64
	decreases    []string
	historyTotal int // number of events that the API lists
	evidence     []storedEvidence
}

// storedEvent is an event in the database.
type storedEvent struct {
	id, eventType, status string
	attempts              int
	body                  string
	incident              string // its ID; empty: none
}

// check runs every check and returns its findings, one line for each violation.
func (a *audit) check() (findings []string, t counters) {
	findings = append(findings, a.findings...)
	t = counters{injected: map[string]int{}, replaced: map[string]int{}, missed: map[string]int{}, crashes: map[string]int{}, recoveries: map[string][]time.Duration{}, repeated: map[string]int{}, operations: map[string]int{}, planned: map[string]int{}}
	a.countFaults(&t)
	findings = append(findings, a.gatewayErrors...)
	findings = append(findings, a.checkGatewayExits()...)
	findings = append(findings, a.checkDelivery(&t)...)
	findings = append(findings, a.checkTimestamps()...)
	findings = append(findings, a.checkOrder()...)
	findings = append(findings, a.checkRedeliveries(&t)...)
	findings = append(findings, a.checkWebhooks(&t)...)
	findings = append(findings, a.checkMessages(&t)...)
	findings = append(findings, a.operations.failures...)
	findings = append(findings, a.checkQuiet(&t)...)
	findings = append(findings, a.checkAcknowledgements()...)
	for i := range a.monitors {
		for _, f := range a.checkMonitor(&a.monitors[i], &t) {
			findings = append(findings, fmt.Sprintf("monitor %d: %s", i, f))
		}
	}
	a.measureRecovery(&t)
	return findings, t
}

// countFaults counts injected, missed and replaced faults.
func (a *audit) countFaults(c *counters) {
	for _, inj := range a.injected {
		if inj.name != "" {
			c.injected[inj.name]++
		}
	}
	for _, name := range a.missed {
		c.missed[name]++
	}
	for _, name := range a.operations.names {
		c.operations[name]++
		c.planned[name]++
	}
	for _, name := range a.operations.missed {
		c.planned[name]++
	}
	for _, f := range a.schedule.faults {
		if f.replaces != "" {
			c.replaced[f.replaces]++
		}
	}
	for _, run := range a.gatewayRuns {
		if run.crash.point != "" {
			point := "crash at " + run.crash.point
			if run.killed || run.stopped {
				c.missed[point]++
			} else {
				c.injected[point]++
			}
		}
	}
}

// collect reads the deliveries, the accepted events and the database's records
// at the end of a run.
func (env *environment) collect(ctx context.Context, a *audit) error {
	a.deliveries = env.receiver.All()
	a.acceptedEvents = map[string]bool{}
	for _, g := range env.gateways {
		for _, report := range g.recorder.reports() {
			for _, id := range report.events {
				a.acceptedEvents[id] = true
			}
		}
	}
	if text, err := os.ReadFile(env.path("accepted")); err == nil {
		for id := range strings.FieldsSeq(string(text)) {
			a.acceptedEvents[id] = true
		}
	}
	for i, m := range env.monitors {
		record := monitorRecord{
			number: i, id: m.id, interval: time.Duration(m.script.interval) * time.Second,
			liveAt: m.liveAt, registeredAt: m.registeredAt, endedAt: m.endedAt, requests: env.segmentRequests(m),
		}
		for condition, spans := range map[string][]span{"blackout": m.script.black, "silence": m.script.silent} {
			for _, sp := range spans {
				record.expected = append(record.expected, episode{condition, env.startedAt.Add(sp.from), env.startedAt.Add(sp.to)})
			}
		}
		if err := env.withDatabase(ctx, func(db *sql.DB) error { return record.readDatabase(ctx, db) }); err != nil {
			return fmt.Errorf("read the database's record of monitor %d: %w", i, err)
		}
		env.readStatistics(ctx, m)
		record.statistics, record.decreases = m.statistics.last, m.statistics.decreases
		response, err := env.call(ctx, http.MethodGet, "/api/v1/monitors/"+m.id+"/events?limit=100", nil)
		if err != nil {
			return fmt.Errorf("read the history of monitor %d: %w", i, err)
		}
		pagination, _ := response.Body["pagination"].(map[string]any)
		total, _ := pagination["total"].(float64)
		record.historyTotal = int(total)
		a.monitors = append(a.monitors, record)
	}
	a.destinationDeliveries = env.destination.All()
	// A picture that is uploaded late makes a message due again.
	return env.waitFor(ctx, endTimeout, func(ctx context.Context) error {
		a.destinations = destinationRecords{}
		if err := env.collectDestinations(ctx, &a.destinations); err != nil {
			return fmt.Errorf("read the database's record of the destinations: %w", err)
		}
		if err := env.checkDeleted(ctx); err != nil {
			return err
		}
		return env.checkNothingPending(ctx, `true`)
	})
}

// readDatabase reads a monitor's status, events and evidence.
func (m *monitorRecord) readDatabase(ctx context.Context, db *sql.DB) error {
	if err := db.QueryRowContext(ctx, `SELECT status FROM monitors WHERE id = $1`, m.id).Scan(&m.status); err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, `
		SELECT id, event_type, webhook_status, webhook_attempts, body, COALESCE(CAST(incident_id AS text), '') FROM monitor_events WHERE monitor_id = $1 ORDER BY seq`, m.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var event storedEvent
		if err := rows.Scan(&event.id, &event.eventType, &event.status, &event.attempts, &event.body, &event.incident); err != nil {
			return err
		}
		m.events = append(m.events, event)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return m.readEvidence(ctx, db)
}
