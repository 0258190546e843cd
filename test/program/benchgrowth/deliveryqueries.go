package main

import (
	"context"
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func events(s *sample) []query {
	listed := func(name string, limit, offset int) query {
		return query{"EventStore.Events", name, nil, func(ctx context.Context, st *postgres.Store) error {
			_, _, err := st.Events(ctx, s.monitorID, limit, offset)
			return err
		}}
	}
	deliveries := func(name string, q monitors.DeliveryQuery) query {
		q.Limit = 51
		return query{"EventStore.Deliveries", name, nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Deliveries(ctx, q); return err }}
	}
	monthAgo := monitors.DeliveryPlace{CreatedAt: time.Now().AddDate(0, -1, 0), ID: "00000000-0000-7000-8000-000000000000"}
	return []query{
		listed("events of a monitor", 50, 0),
		listed("events of a monitor, offset 50", 10, 50),
		deliveries("deliveries", monitors.DeliveryQuery{}),
		deliveries("deliveries, those of a month ago", monitors.DeliveryQuery{Before: monthAgo}),
		deliveries("deliveries that were made", monitors.DeliveryQuery{State: monitors.DeliveryDelivered}),
		deliveries("deliveries that failed", monitors.DeliveryQuery{State: monitors.DeliveryFailed}),
		deliveries("deliveries that are pending", monitors.DeliveryQuery{State: monitors.DeliveryPending}),
		deliveries("deliveries of a monitor", monitors.DeliveryQuery{MonitorID: s.monitorID}),
		deliveries("deliveries of an event", monitors.DeliveryQuery{EventID: s.eventID}),
		deliveries("deliveries of an incident", monitors.DeliveryQuery{IncidentID: s.incidentID}),
		deliveries("deliveries to a destination", monitors.DeliveryQuery{DestinationID: s.webhookID}),
		deliveries("deliveries to a destination that failed", monitors.DeliveryQuery{DestinationID: s.webhookID, State: monitors.DeliveryFailed}),
		{"EventStore.Redeliver", "an event that is delivered again", s.prepared(clearDeliveries), func(ctx context.Context, st *postgres.Store) error {
			return st.Redeliver(ctx, s.monitorID, s.eventID)
		}},
	}
}

// pendingCallbacks gives each of some monitors a pending event.
const pendingCallbacks = clearDeliveries + `;
	WITH events AS (
		INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
		SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', 'pending', now() FROM (SELECT id FROM monitors WHERE status = 'monitoring' ORDER BY seq LIMIT 1000) AS first
		RETURNING id, monitor_id)
	INSERT INTO deliveries (id, monitor_id, event_id, queue, state, due_at, created_at) SELECT id, monitor_id, id, monitor_id, 'pending', now(), now() FROM events`

// delivered returns the outcome of an event that was accepted.
func delivered() delivery.Outcome {
	return delivery.Outcome{Decision: notify.Decision{Delivered: true}, Attempt: delivery.Attempt{At: time.Now(), Status: 204}}
}

// outbox is what the dispatcher asks for. All gateways ask while nothing is pending.
func outbox(s *sample) []query {
	const minute = time.Minute
	pending := func(condition string) call {
		return s.prepared(clearDeliveries + `; UPDATE deliveries x SET state = 'pending', changed = incident_id IS NOT NULL,
			queue = CASE WHEN sequence IS NOT NULL THEN destination_id || ' ' || monitor_id END,
			due_at = CASE WHEN NOT EXISTS (
				SELECT FROM deliveries y WHERE y.destination_id = x.destination_id AND y.monitor_id = x.monitor_id AND y.sequence < x.sequence AND ` + condition + `) THEN now() - interval '1 s' END
			WHERE ` + condition)
	}
	none, callbacks := s.prepared(clearDeliveries), s.prepared(pendingCallbacks)
	event, thread := pending(`id = '`+s.deliveryID+`'`), pending(`incident_id = '`+s.incidentID+`'`)
	backlog := pending(`destination_id = '` + s.webhookID + `' AND sequence IS NOT NULL`)
	var leased delivery.Leased
	lease := func(ctx context.Context, st *postgres.Store) (err error) {
		leased, err = st.Lease(ctx, 32, minute)
		return requireSome(len(leased.Deliveries), err)
	}
	leaseOf := func(some call) call {
		return func(ctx context.Context, st *postgres.Store) error { return errors.Join(some(ctx, st), lease(ctx, st)) }
	}
	record := func(name string, before call, o delivery.Outcome) query {
		return query{"Outbox.Record", name, leaseOf(before), func(ctx context.Context, st *postgres.Store) error {
			_, err := st.Record(ctx, leased.Deliveries[0], o)
			return err
		}}
	}
	leaseNothing := func(ctx context.Context, st *postgres.Store) error {
		_, err := st.Lease(ctx, 32, minute)
		return err
	}
	route := func(name, before string) query {
		return query{"Outbox.Lease", name, s.prepared(before), leaseNothing}
	}
	refused := func(d notify.Decision) delivery.Outcome {
		return delivery.Outcome{Decision: d, Attempt: delivery.Attempt{At: time.Now(), Status: 500, Error: "HTTP 500"}, Class: notify.Retry}
	}
	told := delivered()
	told.Notified = &notify.Notified{Opened: true, Open: true}
	retried := refused(notify.Decision{RetryAt: time.Now().Add(time.Hour)})
	failed := s.prepared(clearDeliveries + `; UPDATE deliveries SET state = 'failed' WHERE id = '` + s.deliveryID + `'`)
	return []query{
		{"Outbox.Lease", "lease, nothing is pending", none, leaseNothing},
		{"Outbox.Lease", "lease of events, 1000 monitors have one", callbacks, lease},
		{"Outbox.Lease", "the next lease of many events", leaseOf(callbacks), lease},
		{"Outbox.Lease", "lease of a delivery to a webhook", event, lease},
		{"Outbox.Lease", "lease of a message about an incident, or none is due", thread, leaseNothing},
		{"Outbox.Lease", "lease of deliveries, a destination has a backlog", backlog, lease},
		record("success of an event", callbacks, delivered()),
		record("failure of an event, which is tried again", callbacks, retried),
		record("failure of an event, which ends its monitor", callbacks, refused(notify.Decision{Failed: true, EndMonitor: true})),
		record("success of a delivery", event, delivered()),
		record("failure of a delivery", event, retried),
		record("success of a message", event, told),
		{"Outbox.TakeOverLeases", "leases of an earlier gateway", leaseOf(callbacks), func(ctx context.Context, st *postgres.Store) error { return st.TakeOverLeases(ctx, "bench") }},
		{"Outbox.Replay", "a delivery that is made again", none, func(ctx context.Context, st *postgres.Store) error { return st.Replay(ctx, s.deliveryID) }},
		{"Outbox.ReplayFailed", "failed deliveries of a destination, made again", failed, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.ReplayFailed(ctx, time.Now().AddDate(0, 0, -1), s.webhookID)
			return err
		}},
		{"Outbox.ReplayFailed", "failed deliveries of the last hour, made again", failed, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.ReplayFailed(ctx, time.Now().Add(-time.Hour), "")
			return err
		}},
		route("no incident has changed", clearDeliveries),
		route("an incident has changed", clearDeliveries+`; UPDATE incidents SET unrouted = 1 WHERE id = '`+s.incidentID+`'`),
		route("open incidents, after a change of a route", clearDeliveries+`; UPDATE routing_version SET version = version + 1`),
	}
}
