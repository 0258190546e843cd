package postgres

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// notifyChannel is notified by every transaction that adds a pending event.
const notifyChannel = "monitor_events"

// enqueue stores events as pending, in order, at the end of the queue of a locked
// monitor, and notifies the listeners. Events already stored are skipped.
func (db *database) enqueue(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, events []event.Event) error {
	for _, e := range events {
		if err := db.insertEvent(ctx, tx, m, e); err != nil {
			return err
		}
	}
	if len(events) == 0 {
		return nil
	}
	return notify(ctx, tx)
}

func (db *database) insertEvent(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, e event.Event) error {
	if _, err := uuid.Parse(e.ID); err != nil {
		return monitor.Errorf(monitor.InvalidConfig, "event_id %.60q of %s is no UUID", e.ID, e.Type)
	}
	if err := e.Valid(); err != nil {
		return monitor.Errorf(monitor.InvalidConfig, "%v", err)
	}
	body, err := event.NewPayload(e, string(m.id), m.streamURL, m.metadata, db.zone).Encode()
	if err != nil {
		return fmt.Errorf("store event %s: %w", e.ID, err)
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
		VALUES ($1, $2, $3, $4, $5, 'pending', $6)
		ON CONFLICT (id) DO NOTHING`,
		e.ID, m.id, e.Type, string(sanitizeJSON(body)), string(body), e.At.UTC())
	return asConfigError("event "+e.ID, err)
}

// hasEvent reports whether a monitor has an event, false if eventID is no UUID.
func hasEvent(ctx context.Context, tx *sqlx.Tx, id monitor.ID, eventID string) (found bool, err error) {
	if _, err := uuid.Parse(eventID); err != nil {
		return false, nil //nolint:nilerr // insertEvent refuses it
	}
	err = tx.GetContext(ctx, &found, `SELECT EXISTS (SELECT FROM monitor_events WHERE id = $1 AND monitor_id = $2)`, eventID, id)
	return found, err
}

// notify wakes the listeners of all gateways when the transaction is committed.
func notify(ctx context.Context, tx *sqlx.Tx) error {
	_, err := tx.ExecContext(ctx, `NOTIFY `+notifyChannel)
	return err
}

// sanitizeJSON replaces NUL characters, which JSONB does not accept, by U+FFFD. The
// output of a tool may contain them, and an event must not be lost for one. The
// bytes that are sent keep them.
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
		case json[i] == '\\' && i+1 < len(json): // an escape has at least two bytes: \\u0000 is no NUL
			out = append(out, json[i], json[i+1])
			i++
		default:
			out = append(out, json[i])
		}
	}
	return out
}
