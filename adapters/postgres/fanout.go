package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// news is what a transaction has stored that destinations may have to be told of.
type news struct {
	events  []newEvent   // in the order of their sequence
	ended   []monitor.ID // monitors that have ended
	changed []string     // IDs of incidents
	opened  []string     // of these
	now     time.Time    // of the changes, by the clock of the database

	incidentOf map[string]string // the IDs of incidents by those of events; without: the event belongs to none
}

// newEvent is an event that a transaction has stored.
type newEvent struct {
	event.Event

	monitor    lockedMonitor
	unrecorded bool // its incident could not be stored
}

// addEvents adds what was found about a monitor.
func (n *news) addEvents(f found, unrecorded bool) {
	for _, e := range f.events {
		n.events = append(n.events, newEvent{e, f.monitor, unrecorded})
	}
	if f.ended != nil {
		n.ended = append(n.ended, f.monitor.id)
	}
}

// newsOf returns what steps have changed.
func newsOf(all ...*incidentSteps) news {
	n := news{incidentOf: map[string]string{}}
	for _, s := range all {
		for _, i := range s.changed {
			n.changed = append(n.changed, i.ID)
			if slices.Contains(s.opened, i.ID) && i.State == incident.Open {
				n.opened = append(n.opened, i.ID)
			}
		}
		maps.Copy(n.incidentOf, s.incidentOf)
		n.now = s.now
	}
	return n
}

// fanOut stores what is to be delivered of the news to destinations (section 19.4), and
// wakes the dispatchers. It logs and leaves out what the server refuses: no event waits for
// its deliveries. ReplanOpenIncidents adds within a minute what is missing. A refusal that
// passes, as that of a full disk, is an error: the worker reports the events again.
func (db *database) fanOut(ctx context.Context, tx *sqlx.Tx, run runPart, n news) error {
	if len(n.events)+len(n.changed)+len(n.ended) == 0 {
		return nil
	}
	var passing error
	refused := false
	err := run(ctx, tx, func() error {
		routing, err := db.routing(ctx, tx)
		if err != nil || len(routing.Destinations)+len(routing.Silences) == 0 {
			return err
		}
		if len(routing.Destinations) > 0 {
			if n, err = db.recordStorm(ctx, tx, n); err != nil {
				return err
			}
		}
		var incidents []routedIncident
		if ids := slices.Concat(n.changed, slices.Collect(maps.Values(n.incidentOf))); len(ids) > 0 {
			if incidents, err = db.readRoutedIncidents(ctx, tx, `i.id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids)); err != nil {
				return err
			}
		}
		if routing, err = endSilences(ctx, tx, routing, n, incidents); err != nil {
			return err
		}
		if err := resolveStorms(ctx, tx, n, incidents); err != nil {
			return err
		}
		storms, err := db.stormsOf(ctx, tx, incidents)
		if err != nil {
			return err
		}
		f := fanOut{routing: routing, openStorms: storms}
		f.addEvents(n, incidents)
		for _, i := range incidents {
			if slices.Contains(n.changed, i.ID) {
				f.addThreads(i, n.now)
			}
		}
		return f.store(ctx, tx)
	}, func(err error) {
		if isPassing(err) {
			passing = fmt.Errorf("store what is to be delivered to destinations: %w", err)
			return
		}
		refused = true
		db.log.Error("what is to be delivered to destinations could not be stored and is left out, the event itself is stored: report the defect with error",
			"monitor_ids", n.monitorIDs(), "events", len(n.events), "incidents", len(n.changed), "error", err.Error())
	})
	if err == nil && refused && len(n.events) > 0 {
		err = noteMissed(ctx, tx, n.events)
	}
	return cmp.Or(err, passing)
}

// monitorIDs returns the IDs of the monitors that the events belong to.
func (n news) monitorIDs() (ids []string) {
	for _, e := range n.events {
		if id := string(e.monitor.id); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// fanOut collects what a transaction stores in deliveries.
type fanOut struct {
	routing    notify.Routing
	openStorms map[string]stormWithIncidents // by ID; those of the incidents
	rows       []newDelivery
	incidents  []string // whose threads have something to tell, perhaps
	storms     []string
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

func (f *fanOut) add(to notify.Target, d newDelivery) {
	d.ID, d.DestinationID, d.RouteID = uuid.Must(uuid.NewV7()).String(), to.Destination.ID, to.Route.ID
	f.rows = append(f.rows, d)
}

// addEvents adds the events at the destinations that get events. An event whose incident
// could not be stored goes wherever a condition of the highest severity goes: a false alert
// is better than a lost one.
func (f *fanOut) addEvents(n news, incidents []routedIncident) {
	type queue struct{ destination, monitor string }
	places := map[queue]int{}
	var of monitor.ID // metadata is that of this monitor
	var metadata map[string]string
	for _, e := range n.events {
		if e.monitor.id != of {
			of, metadata = e.monitor.id, notify.FlattenMetadata(e.monitor.metadata)
		}
		s := notify.Subject{EventType: e.Type, MonitorID: of, Metadata: metadata}
		at := slices.IndexFunc(incidents, func(i routedIncident) bool { return i.ID == n.incidentOf[e.ID] })
		switch {
		case e.unrecorded:
			s.Severity, s.Conditions = incident.MaxSeverity, incident.Names()
		case at >= 0:
			about := incidents[at].subject()
			s.Severity, s.Conditions = about.Severity, about.Conditions
		}
		for _, to := range f.routing.Targets(s) {
			q := queue{to.Destination.ID, string(of)}
			places[q]++
			f.add(to, newDelivery{MonitorID: string(of), EventID: e.ID, Place: places[q], CreatedAt: timeOrNull(e.At)})
		}
	}
}

// addThreads adds the threads of an incident, or of the storm that is told instead of it, where
// there is something to tell sooner or later. Threads that exist are woken.
func (f *fanOut) addThreads(i routedIncident, now time.Time) {
	f.incidents = append(f.incidents, i.ID)
	if i.stormID != "" && !slices.Contains(f.storms, i.stormID) {
		f.storms = append(f.storms, i.stormID)
	}
	s := i.subject()
	for _, to := range f.routing.Targets(s) {
		if i.inStorm && f.openStorms[i.stormID].Storm.Notifies(to.Destination, f.routing) {
			f.add(to, newDelivery{StormID: i.stormID, DueAt: timeOrNull(now.Add(notify.StormPause))})
			continue
		}
		step := notify.Next(now, notify.SituationOf(i.Incident), notify.Notified{}, i.policy(to.Destination, f.routing, now, f.openStorms))
		if step.Kind != "" {
			step.At = now
		}
		if !step.At.IsZero() {
			f.add(to, newDelivery{MonitorID: string(i.monitorID), IncidentID: i.ID, DueAt: timeOrNull(step.At)})
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

// insertFresh inserts some of the new deliveries. The caller names what may exist already. A
// number that another event has is no such thing.
const insertFresh = `
		INSERT INTO deliveries (id, destination_id, route_id, monitor_id, event_id, incident_id, storm_id, sequence, state, due_at, round_began_at, created_at)
		SELECT * FROM fresh`

// storeFanOut wakes the threads of the incidents $2 and of the storms $3, and stores the
// new deliveries $1. A message that is in flight or being retried keeps its time. Its retry
// tells the change, or its success makes the thread due. A destination that was deleted
// meanwhile gets nothing.
var storeFanOut = `
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
func (f *fanOut) store(ctx context.Context, tx *sqlx.Tx) error {
	if len(f.rows)+len(f.incidents)+len(f.storms) == 0 {
		return nil
	}
	if f.rows == nil {
		f.rows = []newDelivery{}
	}
	rows, err := json.Marshal(f.rows)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, storeFanOut, string(rows), pq.Array(f.incidents), pq.Array(f.storms), notify.StormPause.Seconds(), deliveriesChannel)
	return err
}

// endSilences ends the silences that last until an incident has recovered, and returns the
// routing without them. Those of a monitor that has ended end with it, or with its incident. It locks the version of the routing before the silences, as every
// change of the routing does.
func endSilences(ctx context.Context, tx *sqlx.Tx, routing notify.Routing, n news, incidents []routedIncident) (notify.Routing, error) {
	var ended []string
	for _, silence := range routing.Silences {
		if !silence.UntilRecovered || !silence.Active(n.now) {
			continue
		}
		if slices.ContainsFunc(incidents, func(i routedIncident) bool {
			return i.State == incident.Resolved && slices.Contains(n.changed, i.ID) && silence.Match.Matches(i.subject())
		}) {
			ended = append(ended, silence.ID)
		} else if of := silence.Match.Monitors; len(of) == 1 && slices.Contains(n.ended, of[0]) {
			var isOpen bool
			err := tx.GetContext(ctx, &isOpen, `SELECT EXISTS (SELECT FROM incidents WHERE monitor_id = $1 AND state = 'open')`, of[0])
			if err != nil {
				return routing, err
			}
			if !isOpen {
				ended = append(ended, silence.ID)
			}
		}
	}
	if len(ended) == 0 {
		return routing, nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE routing_version SET version = version + 1`); err != nil {
		return routing, err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE silences SET ended_at = now(), updated_at = now() WHERE id = ANY (CAST($1 AS uuid[])) AND ended_at IS NULL`,
		pq.Array(ended)); err != nil {
		return routing, err
	}
	routing.Silences = slices.DeleteFunc(slices.Clone(routing.Silences), func(s notify.Silence) bool { return slices.Contains(ended, s.ID) })
	return routing, nil
}

// deliveriesChannel is the channel that every transaction with a new pending delivery
// notifies. It is named like the table.
const deliveriesChannel = "deliveries"

// wakeDestinations wakes the dispatchers of destinations of all gateways when the
// transaction is committed.
func wakeDestinations(ctx context.Context, tx *sqlx.Tx) error {
	_, err := tx.ExecContext(ctx, `NOTIFY `+deliveriesChannel)
	return err
}
