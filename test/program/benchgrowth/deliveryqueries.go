package main

import (
	"context"
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/application/delivery/destination"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func events(s *sample) []query {
	listed := func(name string, limit, offset int) query {
		return query{"EventStore.Events", name, nil, func(ctx context.Context, st *postgres.Store) error {
			_, _, err := st.Events(ctx, s.monitorID, limit, offset)
			return err
		}}
	}
	deliveries := func(name string, q registry.DeliveryQuery) query {
		q.Limit = 51
		return query{"EventStore.Deliveries", name, nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Deliveries(ctx, q); return err }}
	}
	monthAgo := registry.DeliveryPlace{CreatedAt: time.Now().AddDate(0, -1, 0), ID: "00000000-0000-7000-8000-000000000000"}
	return []query{
		listed("events of a monitor", 50, 0),
		listed("events of a monitor, offset 50", 10, 50),
		deliveries("deliveries", registry.DeliveryQuery{}),
		deliveries("deliveries, those of a month ago", registry.DeliveryQuery{Before: monthAgo}),
		deliveries("deliveries that were made", registry.DeliveryQuery{State: registry.DeliveryDelivered}),
		deliveries("deliveries that failed", registry.DeliveryQuery{State: registry.DeliveryFailed}),
		deliveries("deliveries that are pending", registry.DeliveryQuery{State: registry.DeliveryPending}),
		deliveries("deliveries of a monitor", registry.DeliveryQuery{MonitorID: s.monitorID}),
		deliveries("deliveries of an event", registry.DeliveryQuery{EventID: s.eventID}),
		deliveries("deliveries of an incident", registry.DeliveryQuery{IncidentID: s.incidentID}),
		deliveries("deliveries to a destination", registry.DeliveryQuery{DestinationID: s.webhookID}),
		deliveries("deliveries to a destination that failed", registry.DeliveryQuery{DestinationID: s.webhookID, State: registry.DeliveryFailed}),
		{"EventStore.Redeliver", "an event that is delivered again", s.prepared(clearCallbacks), func(ctx context.Context, st *postgres.Store) error {
			return st.Redeliver(ctx, s.monitorID, s.eventID)
		}},
	}
}

// pendingCallbacks gives each of some monitors a pending event.
const pendingCallbacks = clearCallbacks + `;
	INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
	SELECT gen_random_uuid(), id, 'alert.blackout', '{}', '{}', 'pending', now() FROM (SELECT id FROM monitors WHERE status = 'monitoring' ORDER BY seq LIMIT 1000) AS first`

// callbacks are what the dispatcher of callbacks asks for. All gateways ask while nothing is pending.
func callbacks(s *sample) []query {
	const minute = time.Minute
	none, many := s.prepared(clearCallbacks), s.prepared(pendingCallbacks)
	var leased []callback.Delivery
	lease := func(limit int) call {
		return func(ctx context.Context, st *postgres.Store) (err error) {
			leased, err = st.Outbox.Lease(ctx, limit, minute)
			return requireSome(len(leased), err)
		}
	}
	leaseOne := func(ctx context.Context, st *postgres.Store) error {
		return errors.Join(many(ctx, st), lease(1)(ctx, st))
	}
	record := func(name string, a delivery.Attempt, d callback.Decision) query {
		return query{"Outbox.RecordAttempt", name, leaseOne, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.Outbox.RecordAttempt(ctx, leased[0], a, d)
			return err
		}}
	}
	refused := delivery.Attempt{At: time.Now(), Status: 500, Error: "HTTP 500"}
	return []query{
		{"Outbox.Lease", "lease of events, none is pending", none, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.Outbox.Lease(ctx, 32, minute)
			return err
		}},
		{"Outbox.Lease", "lease of events, 1000 monitors have one", many, lease(32)},
		{"Outbox.Lease", "the next lease of many events", leaseOne, lease(32)},
		record("success of an event", delivery.Attempt{At: time.Now(), Status: 204}, callback.Decision{Delivered: true}),
		record("failure of an event, which is tried again", refused, callback.Decision{RetryAt: time.Now().Add(time.Hour)}),
		record("failure of an event, which ends its monitor", refused, callback.Decision{Failed: true}),
		{"Outbox.NextDue", "next event that is due, none is pending", none, func(ctx context.Context, st *postgres.Store) error { _, err := st.Outbox.NextDue(ctx); return err }},
		{"Outbox.NextDue", "next event that is due", many, func(ctx context.Context, st *postgres.Store) error { _, err := st.Outbox.NextDue(ctx); return err }},
		{"Outbox.TakeOverLeases", "leases of events of an earlier gateway", leaseOne, func(ctx context.Context, st *postgres.Store) error { return st.Outbox.TakeOverLeases(ctx, "bench") }},
	}
}

// deliveriesToDestinations are what the dispatcher of destinations asks for.
func deliveriesToDestinations(s *sample) []query {
	const minute = time.Minute
	pending := func(condition string) call {
		return s.prepared(clearDeliveries + `; UPDATE deliveries SET state = 'pending', due_at = now() - interval '1 s', planned_at = now() - interval '1 s' WHERE ` + condition)
	}
	none, event := s.prepared(clearDeliveries), pending(`id = '`+s.deliveryID+`'`)
	thread := pending(`incident_id = '` + s.incidentID + `'`)
	backlog := pending(`destination_id = '` + s.webhookID + `' AND sequence IS NOT NULL`)
	var leased []destination.Delivery
	lease := func(ctx context.Context, st *postgres.Store) (err error) {
		leased, err = st.DestinationOutbox.Lease(ctx, 32, minute)
		return requireSome(len(leased), err)
	}
	leaseOf := func(some call) call {
		return func(ctx context.Context, st *postgres.Store) error { return errors.Join(some(ctx, st), lease(ctx, st)) }
	}
	record := func(name string, before call, o destination.Outcome) query {
		return query{"DestinationOutbox.RecordAttempt", name, leaseOf(before), func(ctx context.Context, st *postgres.Store) error {
			_, err := st.DestinationOutbox.RecordAttempt(ctx, leased[0], o)
			return err
		}}
	}
	accepted, refused := &delivery.Attempt{At: time.Now(), Status: 204}, &delivery.Attempt{At: time.Now(), Status: 500, Error: "HTTP 500"}
	nextDue := func(ctx context.Context, st *postgres.Store) error {
		_, err := st.DestinationOutbox.NextDue(ctx)
		return err
	}
	return []query{
		{"DestinationOutbox.Lease", "lease of deliveries, none is pending", none, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.DestinationOutbox.Lease(ctx, 32, minute)
			return err
		}},
		{"DestinationOutbox.Lease", "lease of a delivery", event, lease},
		{"DestinationOutbox.Lease", "lease of a message about an incident", thread, lease},
		{"DestinationOutbox.Lease", "lease of deliveries, a destination has a backlog", backlog, lease},
		record("success of a delivery", event, destination.Outcome{Attempt: accepted, Delivered: true}),
		record("failure of a delivery", event, destination.Outcome{Attempt: refused, Class: notify.Retry, DueAt: time.Now().Add(time.Hour)}),
		record("success of a message", thread, destination.Outcome{Attempt: accepted, Delivered: true, Notified: &notify.Notified{Opened: true, Open: true}}),
		record("a message that has nothing to tell", thread, destination.Outcome{}),
		{"DestinationOutbox.NextDue", "next delivery that is due, none is pending", none, nextDue},
		{"DestinationOutbox.NextDue", "next delivery that is due, a destination has a backlog", backlog, nextDue},
		{"DestinationOutbox.TakeOverLeases", "leases of deliveries of an earlier gateway", leaseOf(event), func(ctx context.Context, st *postgres.Store) error {
			return st.DestinationOutbox.TakeOverLeases(ctx, "bench")
		}},
		{"Store.TakeOverLeases", "leases of an earlier gateway", none, func(ctx context.Context, st *postgres.Store) error { return st.TakeOverLeases(ctx, "bench") }},
		{"DestinationOutbox.Replay", "a delivery that is made again", none, func(ctx context.Context, st *postgres.Store) error { return st.Replay(ctx, s.deliveryID) }},
		{"DestinationOutbox.ReplayFailed", "failed deliveries of a destination, made again", s.prepared(clearDeliveries + `; UPDATE deliveries SET state = 'failed' WHERE id = '` + s.deliveryID + `'`),
			func(ctx context.Context, st *postgres.Store) error {
				_, err := st.ReplayFailed(ctx, time.Now().AddDate(0, 0, -1), s.webhookID)
				return err
			}},
		{"DestinationOutbox.ReplayFailed", "failed deliveries of the last hour, made again", s.prepared(clearDeliveries + `; UPDATE deliveries SET state = 'failed' WHERE id = '` + s.deliveryID + `'`),
			func(ctx context.Context, st *postgres.Store) error {
				_, err := st.ReplayFailed(ctx, time.Now().Add(-time.Hour), "")
				return err
			}},
	}
}

// replans are what is added to the messages about open incidents.
func replans(s *sample) []query {
	const everyMinute = clearDeliveries + `; UPDATE routing_version SET planned_version = version, planned_at = now() - interval '2 minutes'`
	replan := func(name, before string) query {
		return query{"DestinationOutbox.ReplanOpenIncidents", name, s.prepared(before), func(ctx context.Context, st *postgres.Store) error { return st.ReplanOpenIncidents(ctx) }}
	}
	return []query{
		replan("messages about open incidents, planned just now", clearDeliveries+`; UPDATE routing_version SET planned_version = version, planned_at = now()`),
		replan("messages about open incidents, every minute", everyMinute),
		replan("messages about open incidents, after a change of a route", clearDeliveries+`; UPDATE routing_version SET version = version + 1`),
		replan("events whose deliveries were refused", everyMinute+`; UPDATE monitor_events SET deliveries_missed = true, created_at = now() WHERE id = '`+s.eventID+`'`),
		replan("incidents that were not counted", everyMinute+`; UPDATE incidents SET uncounted = true, opened_at = now() WHERE id = '`+s.incidentID+`'`),
	}
}
