package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// notifyChannel is the channel that every transaction with a new pending event notifies.
// It is named like the table.
const notifyChannel = "monitor_events"

// newEventRow is a new row of monitor_events.
type newEventRow struct {
	ID        string     `json:"id"`
	MonitorID monitor.ID `json:"monitor_id"`
	Type      event.Type `json:"event_type"`
	Payload   string     `json:"payload"`
	Body      string     `json:"body"`
	CreatedAt time.Time  `json:"created_at"`
}

// newEventRows returns the rows of the events of a monitor. Errors: *monitor.Error
// InvalidConfig.
func (db *database) newEventRows(m lockedMonitor, events []event.Event) ([]newEventRow, error) {
	rows := make([]newEventRow, 0, len(events))
	for _, e := range events {
		if _, err := uuid.Parse(e.ID); err != nil {
			return nil, monitor.Errorf(monitor.InvalidConfig, "event_id %.60q of %s is no UUID", e.ID, e.Type)
		}
		if err := e.Valid(); err != nil {
			return nil, monitor.Errorf(monitor.InvalidConfig, "%v", err)
		}
		body, err := event.NewPayload(e, string(m.id), m.streamURL, m.metadata, db.zone).Encode()
		if err != nil {
			return nil, fmt.Errorf("store event %s: %w", e.ID, err)
		}
		rows = append(rows, newEventRow{e.ID, m.id, e.Type, string(sanitizeJSON(body)), string(body), e.At.UTC()})
	}
	return rows, nil
}

// enqueue stores events of a locked monitor with insertEvents.
func (db *database) enqueue(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, events []event.Event) (added []event.Event, changes []feed.Data, err error) {
	rows, err := db.newEventRows(m, events)
	if err != nil {
		return nil, nil, err
	}
	stored, err := insertEvents(ctx, tx, rows)
	if err != nil {
		return nil, nil, err
	}
	added, changes = stored.of(events)
	return added, changes, nil
}

// storedEvents are the events that a transaction has stored, by ID.
type storedEvents map[string]feed.Data

// of returns those of the events that are stored, and their changes of the feed.
func (s storedEvents) of(events []event.Event) (added []event.Event, changes []feed.Data) {
	for _, e := range events {
		if change, ok := s[e.ID]; ok {
			added, changes = append(added, e), append(changes, change)
			delete(s, e.ID) // a report may have one twice
		}
	}
	return added, changes
}

// insertEvents stores events as pending, in order, at the end of the queues of locked
// monitors, and notifies the listeners. It leaves out those that are stored already. The
// caller appends the changes to the feed at the end of the transaction.
func insertEvents(ctx context.Context, tx *sqlx.Tx, events []newEventRow) (storedEvents, error) {
	if len(events) == 0 {
		return nil, nil //nolint:nilnil // none
	}
	encoded, err := json.Marshal(events)
	if err != nil {
		return nil, err
	}
	var rows []deliveryChange
	err = tx.SelectContext(ctx, &rows, `
		INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
		SELECT id, monitor_id, event_type, CAST(payload AS jsonb), body, 'pending', created_at
		FROM json_to_recordset($1) AS n (id uuid, monitor_id text, event_type text, payload text, body text, created_at timestamptz)
		ON CONFLICT (id) DO NOTHING RETURNING `+deliveryColumns, string(encoded))
	if err != nil {
		return nil, asInvalidConfig("event "+events[0].ID, err)
	}
	stored := storedEvents{}
	for _, r := range rows {
		stored[r.ID] = r.toDelivery()
	}
	return stored, wakeDispatcher(ctx, tx)
}

// hasEvent reports whether a monitor has an event, false if eventID is no UUID.
func hasEvent(ctx context.Context, tx *sqlx.Tx, id monitor.ID, eventID string) (found bool, err error) {
	if _, err := uuid.Parse(eventID); err != nil {
		return false, nil //nolint:nilerr // newEventRows refuses it
	}
	err = tx.GetContext(ctx, &found, `SELECT EXISTS (SELECT FROM monitor_events WHERE id = $1 AND monitor_id = $2)`, eventID, id)
	return found, err
}

// wakeDispatcher wakes the dispatchers of all gateways when the transaction is committed.
func wakeDispatcher(ctx context.Context, tx *sqlx.Tx) error {
	_, err := tx.ExecContext(ctx, `NOTIFY `+notifyChannel)
	return err
}

// sanitizeJSON replaces NUL characters by U+FFFD, because the type JSONB refuses them. A
// tool's output in an event may contain them, and the event must be stored all the same.
// The column body keeps the NUL characters for the webhook.
func sanitizeJSON(json []byte) []byte {
	const nul, replacement = `\u0000`, `\ufffd`
	if !bytes.Contains(json, []byte(nul)) {
		return json
	}
	out := make([]byte, 0, len(json))
	for i := 0; i < len(json); i++ {
		switch {
		case bytes.HasPrefix(json[i:], []byte(nul)):
			out = append(out, replacement...)
			i += len(nul) - 1
		case json[i] == '\\' && i+1 < len(json): // in \\u0000 the second backslash begins no escape: copy both
			out = append(out, json[i], json[i+1])
			i++
		default:
			out = append(out, json[i])
		}
	}
	return out
}
