//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// tolerance is how far a time that comes from the media may be from the
// expected one, as in the acceptance tests.
const tolerance = 500 * time.Millisecond

// audit holds what is known of a run at its end, and checks it.
type audit struct {
	schedule schedule
	findings []string // one line for each violation
	counters counters

	monitors         []monitorRecord
	accepted         map[string]bool            // IDs of the events of reports that a gateway has stored
	callbacks        []webhookreceiver.Delivery // in order of arrival
	webhooks         []webhookreceiver.Delivery // at the webhook destination, in order of arrival
	incidents        []incidentRecord           // and storms
	incidentOfEvent  map[string]string          // IDs; empty: none
	threads          map[threadKey]threadRecord
	messages         map[string][]channel.Message // by channel, in the order in which they were posted
	injected         []injection
	acknowledgements []acknowledgement
	deletedAt        time.Time    // when the deletion of a destination was answered; zero: never
	gatewayRuns      []gatewayRun // those of a gateway one after the other
}

// counters are the numbers of the summary.
type counters struct {
	injected, missed     map[string]int // faults, crashes and operations by name; missed: they found no target
	events, deliveries   int
	messages             int
	lost                 int // events and messages
	repeated             int // deliveries and messages that came again, because of a fault
	episodes, unreported int // unreported: while a fault was active
}

func (a *audit) find(format string, args ...any) {
	a.findings = append(a.findings, fmt.Sprintf(format, args...))
}

// findLost adds a finding about something that did not arrive.
func (a *audit) findLost(format string, args ...any) {
	a.counters.lost++
	a.find("lost: "+format, args...)
}

// monitorRecord is everything that is known of one monitor.
type monitorRecord struct {
	number       int
	id           string
	interval     time.Duration
	expected     []episode
	registeredAt time.Time
	requests     []segmentRequest
	events       []storedEvent // in the order of delivery (seq)
	status       string
	statistics   map[string]any
	historyTotal float64 // number of events that the API lists
	evidence     []storedEvidence
}

// storedEvent is an event in the database.
type storedEvent struct {
	id, eventType, status string
	attempts              int
	body                  string
	incident              string // its ID; empty: none
}

// check runs every check.
func (a *audit) check() {
	a.countFaults()
	a.checkGatewayExits()
	a.checkEvents()
	for i := range a.monitors {
		a.checkMonitor(&a.monitors[i])
	}
	a.checkMessages()
	a.checkDeleted()
	a.checkAcknowledgements()
}

// countFaults counts the injected and the missed faults.
func (a *audit) countFaults() {
	for _, inj := range a.injected {
		if inj.name != "" {
			a.counters.injected[inj.name]++
		}
	}
	for _, run := range a.gatewayRuns {
		switch point := "crash at " + run.crash.point; {
		case run.crash.point == "":
		case run.killed || run.stopped:
			a.counters.missed[point]++
		default:
			a.counters.injected[point]++
		}
	}
}

// collect reads what arrived and what the database holds at the end of a run.
func (env *environment) collect(ctx context.Context, a *audit) error {
	// A picture that is uploaded late makes a message due again.
	if err := env.waitFor(ctx, endTimeout, func(ctx context.Context) error { return env.checkNothingPending(ctx, `true`) }); err != nil {
		return err
	}
	a.callbacks, a.webhooks = env.receiver.All(), env.destination.All()
	a.accepted, a.incidentOfEvent = map[string]bool{}, map[string]string{}
	text, err := os.ReadFile(env.path("accepted"))
	if err != nil {
		return err
	}
	for id := range strings.FieldsSeq(string(text)) {
		a.accepted[id] = true
	}
	for i, m := range env.monitors {
		record := monitorRecord{
			number: i, id: m.id, interval: time.Duration(m.script.interval) * time.Second,
			registeredAt: m.registeredAt, requests: env.segmentRequests(m),
		}
		for condition, spans := range map[string][]span{"blackout": m.script.black, "silence": m.script.silent} {
			for _, sp := range spans {
				record.expected = append(record.expected, episode{condition, env.startedAt.Add(sp.from), env.startedAt.Add(sp.to)})
			}
		}
		monitor, err := env.mustAnswer(ctx, http.MethodGet, "/api/v1/monitors/"+m.id, nil, http.StatusOK)
		if err != nil {
			return err
		}
		record.status = fmt.Sprint(monitor["status"])
		record.statistics, _ = monitor["statistics"].(map[string]any)
		history, err := env.mustAnswer(ctx, http.MethodGet, "/api/v1/monitors/"+m.id+"/events?limit=100", nil, http.StatusOK)
		if err != nil {
			return err
		}
		pagination, _ := history["pagination"].(map[string]any)
		record.historyTotal, _ = pagination["total"].(float64)
		if err := errors.Join(env.readEvents(ctx, &record), env.readEvidence(ctx, &record)); err != nil {
			return fmt.Errorf("read the database's record of monitor %d: %w", i, err)
		}
		a.monitors = append(a.monitors, record)
		for _, e := range record.events {
			a.incidentOfEvent[e.id] = e.incident
		}
	}
	return env.collectMessages(ctx, a)
}

// readEvents reads a monitor's events.
func (env *environment) readEvents(ctx context.Context, m *monitorRecord) error {
	return env.eachRow(ctx, `
		SELECT id, event_type, webhook_status, webhook_attempts, body, COALESCE(CAST(incident_id AS text), '')
		FROM monitor_events WHERE monitor_id = $1 ORDER BY seq`, func(rows *sql.Rows) error {
		var e storedEvent
		err := rows.Scan(&e.id, &e.eventType, &e.status, &e.attempts, &e.body, &e.incident)
		m.events = append(m.events, e)
		return err
	}, m.id)
}

// databaseRestartTime is how long a killed database takes to answer again.
const databaseRestartTime = 3 * time.Second

// checkGatewayExits finds gateways that ended without being killed or stopped.
// A gateway that starts while the database is down may give up; it is started
// again.
func (a *audit) checkGatewayExits() {
	for _, run := range a.gatewayRuns {
		if run.endedAt.IsZero() || run.killed || run.stopped || run.crashed {
			continue
		}
		excused := run.readyAt.IsZero() && slices.ContainsFunc(a.injected, func(inj injection) bool {
			return (inj.component == databaseComponent || inj.component == diskComponent || inj.name == allKilled) &&
				inj.from.Before(run.endedAt) && inj.to.After(run.startedAt.Add(-databaseRestartTime))
		})
		if !excused {
			a.find("gateway %d ended by itself at %s; its log ends:\n%s", run.gateway+1, formatTime(run.endedAt), run.service.Tail(5))
		}
	}
}
