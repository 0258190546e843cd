package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// deliveriesChannel is the channel that every transaction notifies that makes a delivery due, or an
// incident be routed. It is named like the table.
const deliveriesChannel = "deliveries"

// newEventRow is a new row of monitor_events.
type newEventRow struct {
	ID        string     `json:"id"`
	MonitorID monitor.ID `json:"monitor_id"`
	Type      event.Type `json:"event_type"`
	Payload   string     `json:"payload"`
	Body      string     `json:"body"`
	Status    string     `json:"webhook_status"` // pending, or none: there is no callback
	CreatedAt time.Time  `json:"created_at"`
}

// newEventRow returns the row of an event of a monitor. Errors: *monitor.Error InvalidConfig.
func (db *database) newEventRow(m lockedMonitor, e event.Event) (newEventRow, error) {
	if err := e.Valid(); err != nil {
		return newEventRow{}, monitor.Errorf(monitor.InvalidConfig, "%v", err)
	}
	payload := event.NewPayload(e, string(m.id), m.streamURL, m.metadata, db.zone)
	payload.Labels = m.labels
	body, err := payload.Encode()
	if err != nil {
		return newEventRow{}, fmt.Errorf("store event %s: %w", e.ID, err)
	}
	status := "pending"
	if m.noCallback {
		status = "none"
	}
	return newEventRow{e.ID, m.id, e.Type, string(monitor.SanitizeJSON(body)), string(body), status, e.At.UTC()}, nil
}

// insertEvents stores the events of what was found, in order. It returns what was found without the events that were
// stored before. Errors: *monitor.Error InvalidConfig.
func (db *database) insertEvents(ctx context.Context, tx *sqlx.Tx, all []found) ([]found, error) {
	var rows []newEventRow
	for _, f := range all {
		for _, e := range f.events {
			row, err := db.newEventRow(f.monitor, e)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return all, nil
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	var added []string
	err = tx.SelectContext(ctx, &added, `
		INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
		SELECT id, monitor_id, event_type, CAST(payload AS jsonb), body, webhook_status, created_at
		FROM json_to_recordset($1) AS n (id uuid, monitor_id text, event_type text, payload text, body text, webhook_status text, created_at timestamptz)
		ON CONFLICT (id) DO NOTHING RETURNING id`, string(encoded))
	if err != nil {
		return nil, asInvalidConfig("event "+rows[0].ID, err)
	}
	all = slices.Clone(all)
	for n, f := range all {
		all[n].events = nil
		for _, e := range f.events {
			if at := slices.Index(added, e.ID); at >= 0 {
				all[n].events = append(all[n].events, e)
				added = slices.Delete(added, at, at+1) // a report may have one twice
			}
		}
	}
	return all, nil
}

// hasEvent reports whether a monitor has an event, false if eventID is no UUID.
func hasEvent(ctx context.Context, tx *sqlx.Tx, id monitor.ID, eventID string) (found bool, err error) {
	if _, err := uuid.Parse(eventID); err != nil {
		return false, nil //nolint:nilerr // the server refuses to store it
	}
	err = tx.GetContext(ctx, &found, `SELECT EXISTS (SELECT FROM monitor_events WHERE id = $1 AND monitor_id = $2)`, eventID, id)
	return found, err
}

// wakeDispatchers wakes the dispatchers of all gateways when the transaction is committed.
func wakeDispatchers(ctx context.Context, tx *sqlx.Tx) error {
	_, err := tx.ExecContext(ctx, `NOTIFY `+deliveriesChannel)
	return err
}
