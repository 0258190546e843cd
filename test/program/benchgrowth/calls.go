package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

const (
	day  = 24 * time.Hour
	page = 51 // rows
)

// call is a call of the store whose statements are explained.
type call struct {
	name   string
	before string // a statement that prepares the call; empty: none
	do     func() error
}

// errorOf and errorOf3 return the error of a call.
func errorOf[T any](_ T, err error) error          { return err }
func errorOf3[T, U any](_ T, _ U, err error) error { return err }

// calls are those of the store whose work can grow with the database. TestPlans of adapters/postgres
// holds that the others read what they return.
func (s *sample) calls(ctx context.Context, st *postgres.Store) []call {
	return slices.Concat(s.lists(ctx, st), s.periodic(ctx, st), s.sweeps(ctx, st))
}

// lists are what operators ask for.
func (s *sample) lists(ctx context.Context, st *postgres.Store) []call {
	list := func(name string, q monitors.MonitorQuery) call {
		q.Limit = page
		return call{name, "", func() error { return errorOf3(st.List(ctx, q)) }}
	}
	listed := func(name string, f incidents.Filter) call {
		f.Limit = page
		return call{name, "", func() error { return errorOf(st.ListIncidents(ctx, f)) }}
	}
	made := func(name string, q monitors.DeliveryQuery) call {
		q.Limit = page
		return call{name, "", func() error { return errorOf(st.Deliveries(ctx, q)) }}
	}
	sum := func(name string, id monitor.ID) call {
		return call{name, "", func() error {
			now := time.Now()
			return st.SumHistory(ctx, id, now, history.NewSummary([]history.Period{{From: now.Add(-30 * day), To: now}}))
		}}
	}
	visitor := histories.Visitor{Begin: func(histories.MonitorLife) {}, Span: func(history.Span) {}, Minute: func(monitor.Minute) {}}
	return []call{
		list("monitors", monitors.MonitorQuery{}),
		list("monitors, offset 50,000", monitors.MonitorQuery{Offset: 50_000}),
		list("monitors, a page by cursor", monitors.MonitorQuery{Before: 50_000}),
		list("monitors in trouble", monitors.MonitorQuery{Trouble: true}),
		list("monitors that are blind", monitors.MonitorQuery{Blind: true}),
		list("monitors that are live", monitors.MonitorQuery{Live: true}),
		list("monitors with a text", monitors.MonitorQuery{Text: "channel 77"}),
		listed("incidents that are open", incidents.Filter{State: incident.Open}),
		listed("incidents that are severe", incidents.Filter{MinSeverity: 2}),
		listed("incidents with a condition", incidents.Filter{Condition: "black"}),
		listed("incidents before a month ago", incidents.Filter{To: time.Now().AddDate(0, -1, 0)}),
		made("deliveries that were made", monitors.DeliveryQuery{State: monitors.DeliveryDelivered}),
		made("deliveries that are pending", monitors.DeliveryQuery{State: monitors.DeliveryPending}),
		made("deliveries to a destination that failed", monitors.DeliveryQuery{DestinationID: s.webhookID, State: monitors.DeliveryFailed}),
		sum("statistics of a monitor, a month", s.monitorID),
		sum("statistics of all monitors, a month", ""),
		{"a timeline of a month", "", func() error {
			return st.MonitorHistory(ctx, s.monitorID, time.Now().Add(-30*day), time.Now(), 30*time.Minute, visitor)
		}},
	}
}

// aBacklog makes all events pending that a destination has got, of which the oldest of each monitor is due.
const aBacklog = `; UPDATE deliveries x SET state = 'pending', queue = destination_id || ' ' || monitor_id, due_at = CASE WHEN NOT EXISTS (
	SELECT FROM deliveries y WHERE y.destination_id = x.destination_id AND y.monitor_id = x.monitor_id AND y.sequence < x.sequence) THEN now() END
	WHERE sequence IS NOT NULL AND destination_id = `

// periodic are what gateways ask again and again, and what workers report.
func (s *sample) periodic(ctx context.Context, st *postgres.Store) []call {
	lease := func() error { return errorOf(st.Lease(ctx, 32, time.Minute)) }
	return []call{
		{"active monitors, every 5 s", "", func() error { return errorOf(st.ListActive(ctx)) }},
		{"state of the workers, every 5 s", "", func() error { return errorOf(st.ReadChecker(ctx)) }},
		{"state for the feed", "", func() error { return errorOf3(st.ReadState(ctx)) }},
		{
			"versions for 100 changes", `DELETE FROM feed_inbox; INSERT INTO feed_inbox (type, id) SELECT 'monitor.updated', id FROM monitors ORDER BY seq LIMIT 100`,
			func() error { return errorOf(st.NumberFeed(ctx)) },
		},
		{"reservations that are due, none is", "", func() error { return errorOf3(st.ClaimDue(ctx, time.Minute)) }},
		{"incidents that time changes, every 2 s", "", func() error { return errorOf(st.SweepIncidents(ctx, 25)) }},
		{"incidents whose end was lost", "", func() error { return errorOf(st.WatchedIncidents(ctx, s.firstSeq, 100)) }},
		{"attempts and backlogs of destinations", "", func() error { return errorOf(st.Traffic(ctx)) }},
		{"lease, nothing is pending", clearDeliveries, lease},
		{"lease of events, 1000 monitors have one", clearDeliveries + ";" + strings.ReplaceAll(pendingCallbacks, "$1", "1000"), lease},
		{"lease of deliveries, a destination has a backlog", clearDeliveries + aBacklog + `'` + s.webhookID + `'`, lease},
		{"open incidents, after a change of a route", clearDeliveries + `; UPDATE routing_version SET version = version + 1`, lease},
		{"a report", clearDeliveries, func() error { return errorOf(st.Accept(ctx, s.monitorID, bench.NewReport())) }},
		{"a report with an event", "", func() error { return errorOf(st.Accept(ctx, s.monitorID, bench.NewReport(bench.NewBlackout()))) }},
	}
}

// sweeps are what the elected gateway deletes and merges.
func (s *sample) sweeps(ctx context.Context, st *postgres.Store) []call {
	ended := func(do func(monitor.ID) error) func() error {
		return func() error {
			id := s.ended[0]
			s.ended = s.ended[1:]
			return do(monitor.ID(id))
		}
	}
	return []call{
		{
			"minutes that are merged, ten of some monitors", `
				DELETE FROM history_ten_minutes WHERE begins >= (SELECT until FROM history_merged) - interval '10 minutes';
				UPDATE history_merged SET monitor_id = '', until = (SELECT minute FROM history_minutes GROUP BY minute ORDER BY count(*) DESC, minute LIMIT 1)`,
			func() error { return errorOf(st.MergeMinutes(ctx, history.SettledBefore(time.Now()))) },
		},
		{"history that expires", "", func() error { return errorOf3(st.DeleteHistory(ctx, time.Now().Add(-29*day), 1000)) }},
		{"evidence of severe incidents", "", func() error { return errorOf(st.QuarantineSevereEvidence(ctx, 100)) }},
		{"evidence that expires", "", func() error { return errorOf(st.DeleteExpiredEvidence(ctx, evidence.Normal, 14*day, 100)) }},
		{"blobs without evidence", "", func() error { return errorOf(st.ClaimOrphanedBlobs(ctx, time.Hour, 100)) }},
		{"monitors whose events expire", "", func() error { return errorOf(st.ExpiringMonitors(ctx, time.Hour, histories.EndedMonitor{}, 100)) }},
		{"events that expire", "", ended(func(id monitor.ID) error { return errorOf(st.DeleteEvents(ctx, id, 10*day, 1000)) })},
		{"incidents that expire", "", ended(func(id monitor.ID) error { return errorOf3(st.DeleteIncidents(ctx, id, 0, 1000)) })},
		{"silences, storms and notices that expire", "", func() error { return errorOf(st.DeleteNotifications(ctx, 90*day, 1000)) }},
		{"entries of the feed that expire", "", func() error { return errorOf3(st.DeleteFeed(ctx, 3*day)) }},
	}
}
