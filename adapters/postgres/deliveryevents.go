package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// subjectOf returns what routes compare of an event, with the incident that it belongs to; nil: none is known.
func subjectOf(e event.Event, m lockedMonitor, of *incident.Incident) notify.Subject {
	s := notify.Subject{EventType: e.Type, MonitorID: m.id, Metadata: notify.FlattenMetadata(m.metadata), Labels: monitor.Labels(m.labels)}
	switch {
	case m.parked:
		s.Severity, s.Conditions = incident.MaxSeverity, incident.Names()
	case of != nil:
		known := notify.StreamIncident{Incident: *of}.Subject()
		s.Severity, s.Conditions = known.Severity, known.Conditions
	}
	return s
}

// newDelivery is a new row of deliveries, of an event.
type newDelivery struct {
	ID            string     `json:"id"`
	DestinationID string     `json:"destination_id,omitempty"`
	RouteID       string     `json:"route_id,omitempty"`
	MonitorID     monitor.ID `json:"monitor_id"`
	EventID       string     `json:"event_id"`
	Queue         string     `json:"queue"`
	Place         int        `json:"place"` // behind what the queue has, from 1
	CreatedAt     time.Time  `json:"created_at"`
}

// queueOf names the queue of the events of a monitor at a destination, or at its callback.
func queueOf(id monitor.ID, destinationID string) string {
	if destinationID == "" {
		return string(id)
	}
	return destinationID + " " + string(id)
}

// insertDeliveries stores new deliveries of events in their order, and wakes the dispatchers. It keeps the first
// delivery of each queue from leaving until the transaction ends. One that leaves makes the next one due, and would
// not see what is being added. It waits for none, and nothing waits for it (leaveQueues). If the first is just
// leaving, the added one is due at once, and a lease finds its place.
const insertDeliveries = `
	WITH added AS (
		INSERT INTO deliveries (id, destination_id, route_id, monitor_id, event_id, sequence, queue, state, due_at, created_at)
		SELECT n.id, n.destination_id, n.route_id, n.monitor_id, n.event_id,
		       CASE WHEN n.destination_id IS NOT NULL THEN n.place + COALESCE((
		            SELECT max(x.sequence) FROM deliveries x
		            WHERE x.destination_id = n.destination_id AND x.monitor_id = n.monitor_id), 0) END,
		       n.queue, 'pending', CASE WHEN n.place = 1 AND held.queue IS NULL THEN now() END, n.created_at
		FROM (SELECT * FROM json_to_recordset($1)
		      AS rows (id uuid, destination_id uuid, route_id uuid, monitor_id text, event_id uuid, queue text, place int, created_at timestamptz) LIMIT $2) AS n
		LEFT JOIN LATERAL (
			SELECT queue FROM deliveries x WHERE n.place = 1 AND x.queue = n.queue ORDER BY x.seq LIMIT 1 FOR KEY SHARE SKIP LOCKED) AS held ON true)
	SELECT pg_notify('` + deliveriesChannel + `', '')`

// deliverEvents stores the deliveries of the events of locked monitors, to their callbacks and to the webhooks that
// routes lead to. A monitor may have no callback.
func (db *database) deliverEvents(ctx context.Context, tx *sqlx.Tx, all []found, incidentOf map[string]*incident.Incident) error {
	if !slices.ContainsFunc(all, func(f found) bool { return len(f.events) > 0 }) {
		return nil
	}
	routing, err := db.routing.current(ctx, tx)
	if err != nil {
		return err
	}
	var rows []newDelivery
	for _, f := range all {
		places := map[string]int{}
		add := func(e event.Event, d newDelivery) {
			d.MonitorID, d.EventID, d.CreatedAt = f.monitor.id, e.ID, e.At.UTC()
			d.Queue = queueOf(f.monitor.id, d.DestinationID)
			places[d.Queue]++
			d.Place = places[d.Queue]
			rows = append(rows, d)
		}
		for _, e := range f.events {
			if !f.monitor.noCallback {
				add(e, newDelivery{ID: e.ID})
			}
			for _, to := range routing.Targets(subjectOf(e, f.monitor, incidentOf[e.ID]), e.At) {
				add(e, newDelivery{ID: uuid.Must(uuid.NewV7()).String(), DestinationID: to.Destination.ID, RouteID: to.Route.ID})
			}
		}
	}
	return execRows(ctx, tx, insertDeliveries, rows)
}
