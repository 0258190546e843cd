package postgres

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// maxRouted is how many incidents one lease routes.
const maxRouted = 200

// markByRouting makes all open incidents be routed anew if people or time have changed the routing since. $1 is its version, and $2
// when time changes it next; NULL: never. It runs after the change was committed: a report that was stored meanwhile is routed by the new routing anyway.
// It locks incidents in the order in which reports do: see lockNewestIncidents.
const markByRouting = `
	WITH changed AS (
		UPDATE routing_version SET routed_version = $1, changes_at = $2
		WHERE routed_version < $1 OR routed_version = $1 AND changes_at <= now() RETURNING 1)
	UPDATE incidents SET unrouted = unrouted + 1
	WHERE EXISTS (SELECT FROM changed) AND id = ANY (ARRAY(SELECT id FROM incidents WHERE state = 'open' ORDER BY monitor_id, seq FOR NO KEY UPDATE))`

// newThread is the place of a message about an incident.
type newThread struct {
	ID            string  `json:"id"`
	IncidentID    string  `json:"incident_id"`
	DestinationID string  `json:"destination_id"`
	RouteID       string  `json:"route_id"`
	DueInSec      float64 `json:"due_in_sec"`
}

// routedRow is an incident that was routed, with how often it had changed before.
type routedRow struct {
	ID       string `json:"id"`
	Unrouted int    `json:"unrouted"`
}

// storeThreads makes the threads of the incidents $1 due, and adds the threads $2. An incident that has
// changed since it was read is left for the next call. It is one statement, so that no gateway that is halted
// holds an incident.
var storeThreads = `
	WITH routed AS (
		UPDATE incidents i SET unrouted = 0
		FROM (SELECT i.id FROM json_to_recordset($1) AS n (id uuid, unrouted int) JOIN incidents i ON i.id = n.id AND i.unrouted = n.unrouted
		      ORDER BY i.id FOR NO KEY UPDATE OF i SKIP LOCKED) AS same
		WHERE i.id = same.id
		RETURNING i.id, i.monitor_id),
	woken AS (
		UPDATE deliveries x SET ` + wakeColumns("now()") + `
		WHERE x.id = ANY (ARRAY(SELECT id FROM deliveries WHERE incident_id IN (SELECT id FROM routed) ORDER BY id FOR NO KEY UPDATE)) RETURNING x.incident_id, x.destination_id),
	added AS (
		INSERT INTO deliveries (id, destination_id, route_id, monitor_id, incident_id, state, changed, due_at, round_began_at, created_at)
		SELECT n.id, n.destination_id, n.route_id, routed.monitor_id, routed.id, 'pending', true, at.due, at.due, now()
		FROM json_to_recordset($2) AS n (id uuid, incident_id uuid, destination_id uuid, route_id uuid, due_in_sec float8)
		JOIN routed ON routed.id = n.incident_id
		CROSS JOIN LATERAL (SELECT now() + make_interval(secs => n.due_in_sec) AS due) AS at
		WHERE NOT EXISTS (SELECT FROM woken WHERE woken.incident_id = n.incident_id AND woken.destination_id = n.destination_id)
		ON CONFLICT (incident_id, destination_id) WHERE incident_id IS NOT NULL DO NOTHING)
	SELECT count(*) FROM routed, ` + commitSoon

// routeIncidents makes the threads due of incidents that have changed, at each destination that the present
// routing leads to, and ends the silences that last until they recover. more is set if others are left. Several
// gateways may call it at once.
func (o *Outbox) routeIncidents(ctx context.Context, w *waiting) (more bool, err error) {
	if !w.RoutingChanged && !w.Unrouted && !w.routing.WaitsForRecovery() {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	if w.RoutingChanged {
		if _, err := o.db.ExecContext(ctx, markByRouting, w.Version, nullTime(w.routing.NextChange(w.Now))); err != nil {
			return false, wrapError(ctx, "route incidents anew", err)
		}
	}
	incidents, unreadable, err := o.db.readRoutedIncidents(ctx, o.db, selectRoutedIncidents+` WHERE i.unrouted > 0 ORDER BY i.seq LIMIT $1`, maxRouted)
	if err == nil && len(unreadable) > 0 {
		_, err = o.db.ExecContext(ctx, `UPDATE incidents SET unrouted = 0 WHERE id = ANY (CAST($1 AS uuid[]))`, pq.Array(unreadable))
	}
	if err != nil {
		return false, wrapError(ctx, "read incidents that have changed", err)
	}
	if err := o.endSilences(ctx, *w, incidents); err != nil {
		return false, wrapError(ctx, "end silences", err)
	}
	if len(incidents) == 0 {
		return false, nil
	}
	rows, all, threads := []routedRow{}, []notify.StreamIncident{}, []newThread{}
	for _, i := range incidents {
		rows, all = append(rows, routedRow{i.ID, i.row.Unrouted}), append(all, i.StreamIncident)
	}
	for _, p := range w.routing.DueThreads(w.Now, all) {
		threads = append(threads, newThread{uuid.Must(uuid.NewV7()).String(), p.IncidentID, p.DestinationID, p.RouteID, p.DueAt.Sub(w.Now).Seconds()})
	}
	rowsJSON, err := json.Marshal(rows)
	if err != nil {
		return false, err
	}
	threadsJSON, err := json.Marshal(threads)
	if err != nil {
		return false, err
	}
	var routed int
	err = o.db.GetContext(ctx, &routed, storeThreads, string(rowsJSON), string(threadsJSON))
	w.locked = routed < len(incidents)
	return len(incidents) == maxRouted && routed > 0, wrapError(ctx, "route incidents", err)
}

// endSilences ends the silences that last until an incident has recovered: those of incidents that are
// resolved, and of monitors that have ended without one. An incident is routed after it, so that a
// gateway that ends between the two leaves nothing undone.
func (o *Outbox) endSilences(ctx context.Context, w waiting, incidents []routedIncident) error {
	var monitors []monitor.ID
	for _, s := range w.routing.Silences {
		if s.UntilRecovered {
			monitors = append(monitors, s.Match.Monitors...)
		}
	}
	if len(monitors) == 0 {
		return nil
	}
	var ended []monitor.ID
	if err := o.db.SelectContext(ctx, &ended, `
		SELECT id FROM monitors m WHERE id = ANY ($1) AND ended_at IS NOT NULL AND NOT EXISTS (SELECT FROM incidents i WHERE i.monitor_id = m.id AND i.state = 'open')`, pq.Array(monitors)); err != nil {
		return err
	}
	var resolved []notify.Subject
	for _, i := range incidents {
		if i.State == incident.Resolved {
			resolved = append(resolved, i.Subject())
		}
	}
	ids := w.routing.Recovered(w.Now, resolved, ended)
	if len(ids) == 0 {
		return nil
	}
	return o.db.changeRouting(ctx, "end silences", func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE silences SET ended_at = now(), updated_at = now() WHERE id = ANY (CAST($1 AS uuid[])) AND ended_at IS NULL`, pq.Array(ids))
		return err
	})
}
