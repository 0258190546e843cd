package postgres

import (
	"context"
	"database/sql"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// noteMissed notes the events whose deliveries to destinations were left out. If the server
// refuses that, too, the events are stored without it.
func noteMissed(ctx context.Context, tx *sqlx.Tx, events []newEvent) error {
	ids, unrecorded := make([]string, 0, len(events)), make([]bool, 0, len(events))
	for _, e := range events {
		ids, unrecorded = append(ids, e.ID), append(unrecorded, e.unrecorded)
	}
	return optionally(ctx, tx, func() error {
		_, err := tx.ExecContext(ctx, `
			UPDATE monitor_events e SET deliveries_missed = true, incident_refused = n.unrecorded
			FROM unnest(CAST($1 AS uuid[]), CAST($2 AS boolean[])) AS n (id, unrecorded) WHERE e.id = n.id`, pq.Array(ids), pq.Array(unrecorded))
		return err
	}, func(error) {}) // fanOut has logged that they are missing
}

// maxMissed is how many missed events one call adds.
const maxMissed = 500

// missedEvent is an event that noteMissed has noted.
type missedEvent struct {
	ID         string         `db:"id"`
	Type       event.Type     `db:"event_type"`
	CreatedAt  time.Time      `db:"created_at"`
	MonitorID  monitor.ID     `db:"monitor_id"`
	Metadata   sql.NullString `db:"metadata_text"`
	IncidentID sql.NullString `db:"incident_id"`
	Unrecorded bool           `db:"incident_refused"`
}

// addMissedEvents adds the deliveries of the events of the last hour that were left out, by the
// present routing. They come after newer ones of their monitors, and their sequence says so.
func (o *DestinationOutbox) addMissedEvents(ctx context.Context) error {
	return o.db.inTx(ctx, "add deliveries that were left out", func(tx *sqlx.Tx) error {
		var rows []missedEvent
		if err := tx.SelectContext(ctx, &rows, `
			SELECT e.id, e.event_type, e.created_at, e.monitor_id, m.metadata_text, e.incident_id, e.incident_refused
			FROM monitor_events e JOIN monitors m ON m.id = e.monitor_id
			WHERE e.deliveries_missed AND e.created_at > now() - interval '1 hour'
			ORDER BY e.seq LIMIT $1 FOR UPDATE OF e SKIP LOCKED`, maxMissed); err != nil || len(rows) == 0 {
			return err
		}
		routing, err := o.db.routing.current(ctx, tx)
		if err != nil {
			return err
		}
		c := routableChangesOf()
		var ids, incidentIDs []string
		for _, r := range rows {
			ids = append(ids, r.ID)
			c.events = append(c.events, newEvent{
				Event:   event.Event{ID: r.ID, Type: r.Type, At: r.CreatedAt},
				monitor: lockedMonitor{id: r.MonitorID, metadata: []byte(r.Metadata.String)}, unrecorded: r.Unrecorded,
			})
			if r.IncidentID.Valid {
				c.incidentOf[r.ID], incidentIDs = r.IncidentID.String, append(incidentIDs, r.IncidentID.String)
			}
		}
		incidents, err := o.db.readRoutedIncidents(ctx, tx, `i.id = ANY (CAST($1 AS uuid[]))`, pq.Array(incidentIDs))
		if err != nil {
			return err
		}
		batch := deliveryBatch{routing: routing}
		batch.addEvents(c, incidents)
		if err := batch.store(ctx, tx); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE monitor_events SET deliveries_missed = false WHERE id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids))
		return err
	})
}
