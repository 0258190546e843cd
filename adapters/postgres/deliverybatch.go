package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// deliveryBatch collects what a transaction stores in deliveries.
type deliveryBatch struct {
	routing    notify.Routing
	openStorms map[string]stormWithIncidents // by ID; those of the incidents
	rows       []newDelivery
	incidents  []string // IDs of those whose threads may have something to tell
	storms     []string // the same
}

// newDelivery is a new row of deliveries.
type newDelivery struct {
	ID            string     `json:"id"`
	DestinationID string     `json:"destination_id"`
	RouteID       string     `json:"route_id"`
	MonitorID     string     `json:"monitor_id,omitempty"`
	EventID       string     `json:"event_id,omitempty"`
	IncidentID    string     `json:"incident_id,omitempty"`
	StormID       string     `json:"storm_id,omitempty"`
	Place         int        `json:"place,omitempty"` // of the event, after those that the destination has had of its monitor, from 1
	DueAt         *time.Time `json:"due_at,omitempty"`
	CreatedAt     *time.Time `json:"created_at,omitempty"`
}

func (b *deliveryBatch) add(to notify.Target, d newDelivery) {
	d.ID, d.DestinationID, d.RouteID = uuid.Must(uuid.NewV7()).String(), to.Destination.ID, to.Route.ID
	b.rows = append(b.rows, d)
}

// addEvents adds the events at the destinations that get events. An event whose incident
// could not be stored goes wherever a condition of the highest severity goes: a false alert
// is better than a lost one.
func (b *deliveryBatch) addEvents(c routableChanges, incidents []routedIncident) {
	type queue struct{ destination, monitor string }
	places := map[queue]int{}
	var of monitor.ID // metadata is that of this monitor
	var metadata map[string]string
	for _, e := range c.events {
		if e.monitor.id != of {
			of, metadata = e.monitor.id, notify.FlattenMetadata(e.monitor.metadata)
		}
		s := notify.Subject{EventType: e.Type, MonitorID: of, Metadata: metadata}
		at := slices.IndexFunc(incidents, func(i routedIncident) bool { return i.ID == c.incidentOf[e.ID] })
		switch {
		case e.unrecorded:
			s.Severity, s.Conditions = incident.MaxSeverity, incident.Names()
		case at >= 0:
			about := incidents[at].subject()
			s.Severity, s.Conditions = about.Severity, about.Conditions
		}
		for _, to := range b.routing.Targets(s) {
			q := queue{to.Destination.ID, string(of)}
			places[q]++
			b.add(to, newDelivery{MonitorID: string(of), EventID: e.ID, Place: places[q], CreatedAt: timeOrNull(e.At)})
		}
	}
}

// addThreads adds the threads of an incident, or of the storm that is told instead of it, where
// there is something to tell sooner or later. Threads that exist are woken.
func (b *deliveryBatch) addThreads(i routedIncident, now time.Time) {
	b.incidents = append(b.incidents, i.ID)
	if i.stormID != "" && !slices.Contains(b.storms, i.stormID) {
		b.storms = append(b.storms, i.stormID)
	}
	s := i.subject()
	for _, to := range b.routing.Targets(s) {
		if i.inStorm && b.openStorms[i.stormID].Storm.Tells(i.ofStorm(), to.Destination, b.routing, now) {
			b.add(to, newDelivery{StormID: i.stormID, DueAt: timeOrNull(now.Add(notify.StormPause))})
			continue
		}
		step := notify.Next(now, notify.SituationOf(i.Incident), notify.Notified{}, i.policy(to.Destination, b.routing, now, b.openStorms))
		if step.Kind != "" {
			step.At = now
		}
		if !step.At.IsZero() {
			b.add(to, newDelivery{MonitorID: string(i.monitorID), IncidentID: i.ID, DueAt: timeOrNull(step.At)})
		}
	}
}

// isInFlightOrRetried is the condition of a row x of deliveries that keeps its time when it is
// woken. wakeTime is when another thread has something to tell, a storm after a pause ($4).
const (
	isInFlightOrRetried = `(x.state = 'pending' AND (x.tried > 0 OR COALESCE(x.leased_until > now(), false)))`
	wakeTime            = `CASE WHEN x.storm_id IS NULL THEN now()
	                     ELSE LEAST(now() + make_interval(secs => $4), CASE WHEN x.state = 'pending' THEN x.due_at END) END`
)

// newRound begins a new round of a delivery now.
const newRound = `changed = true, state = 'pending', tried = 0, due_at = now(), planned_at = now(), round_began_at = now()`

// wakeColumns begins a new round of a row x of deliveries at a time. A message that is in
// flight or being retried keeps its time: its retry tells the change, or its success makes
// the thread due.
func wakeColumns(at string) string {
	unlessKept := func(column, value string) string {
		return column + ` = CASE WHEN ` + isInFlightOrRetried + ` THEN x.` + column + ` ELSE ` + value + ` END`
	}
	return `changed = true, state = 'pending', ` + strings.Join([]string{
		unlessKept("tried", "0"), unlessKept("due_at", at), unlessKept("planned_at", "now()"), unlessKept("round_began_at", at),
	}, ", ")
}

// insertFresh inserts some of the new deliveries. The caller appends which conflict means that a
// delivery exists already. A sequence that another event has is an error.
const insertFresh = `
		INSERT INTO deliveries (id, destination_id, route_id, monitor_id, event_id, incident_id, storm_id, sequence, state, due_at, round_began_at, created_at)
		SELECT * FROM fresh`

// storeBatch wakes the threads of the incidents $2 and of the storms $3, and stores the
// new deliveries $1. A message that is in flight or being retried keeps its time. Its retry
// tells the change, or its success makes the thread due. A destination that was deleted
// meanwhile gets nothing.
var storeBatch = `
	WITH woken AS (
		UPDATE deliveries x SET ` + wakeColumns(wakeTime) + `
		WHERE x.incident_id = ANY (CAST($2 AS uuid[])) OR x.storm_id = ANY (CAST($3 AS uuid[]))),
	known AS (
		SELECT id FROM destinations WHERE id IN (SELECT destination_id FROM json_to_recordset($1) AS n (destination_id uuid))
		ORDER BY id FOR KEY SHARE),
	fresh AS (
		SELECT n.id, n.destination_id, n.route_id, n.monitor_id, n.event_id, n.incident_id, n.storm_id,
		       n.place + COALESCE((SELECT max(e.sequence) FROM deliveries e
		                           WHERE e.destination_id = n.destination_id AND e.monitor_id = n.monitor_id AND e.sequence IS NOT NULL), 0) AS sequence,
		       'pending' AS state, COALESCE(n.due_at, now()) AS due_at, COALESCE(n.due_at, now()) AS round_began_at, COALESCE(n.created_at, now()) AS created_at
		FROM json_to_recordset($1) AS n (id uuid, destination_id uuid, route_id uuid, monitor_id text, event_id uuid, incident_id uuid, storm_id uuid,
		                                 place bigint, due_at timestamptz, created_at timestamptz)
		WHERE n.destination_id IN (SELECT id FROM known)),
	events AS (` + insertFresh + ` WHERE event_id IS NOT NULL ON CONFLICT (event_id, destination_id) WHERE event_id IS NOT NULL DO NOTHING),
	incidents AS (` + insertFresh + ` WHERE incident_id IS NOT NULL ON CONFLICT (incident_id, destination_id) WHERE incident_id IS NOT NULL DO NOTHING),
	storms AS (` + insertFresh + ` WHERE storm_id IS NOT NULL ON CONFLICT (storm_id, destination_id) WHERE storm_id IS NOT NULL DO NOTHING)
	SELECT pg_notify($5, '')`

// store stores what was collected, in one statement.
func (b *deliveryBatch) store(ctx context.Context, tx *sqlx.Tx) error {
	if len(b.rows)+len(b.incidents)+len(b.storms) == 0 {
		return nil
	}
	if b.rows == nil {
		b.rows = []newDelivery{}
	}
	rows, err := json.Marshal(b.rows)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, storeBatch, string(rows), pq.Array(b.incidents), pq.Array(b.storms), notify.StormPause.Seconds(), deliveriesChannel)
	return err
}
