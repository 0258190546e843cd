package postgres

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// notifyChannel is the channel that every transaction with a new pending event notifies.
// It is named like the table.
const notifyChannel = "monitor_events"

// enqueue stores events as pending, in order, at the end of the queue of a locked
// monitor, and notifies the listeners. Events already stored are skipped. It returns
// those that are new, and the changes that the caller appends to the feed at the end of
// the transaction.
func (db *database) enqueue(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, events []event.Event) (added []event.Event, changes []feed.Data, err error) {
	for _, e := range events {
		stored, err := db.insertEvent(ctx, tx, m, e)
		if err != nil {
			return nil, nil, err
		}
		if len(stored) > 0 {
			added = append(added, e)
		}
		changes = append(changes, stored...)
	}
	if len(events) == 0 {
		return nil, nil, nil
	}
	return added, changes, wakeDispatcher(ctx, tx)
}

func (db *database) insertEvent(ctx context.Context, tx *sqlx.Tx, m lockedMonitor, e event.Event) ([]feed.Data, error) {
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
	changes, err := changeDeliveries(ctx, tx, `
		INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
		VALUES ($1, $2, $3, $4, $5, 'pending', $6)
		ON CONFLICT (id) DO NOTHING`,
		e.ID, m.id, e.Type, string(sanitizeJSON(body)), string(body), e.At.UTC())
	return changes, asInvalidConfig("event "+e.ID, err)
}

// hasEvent reports whether a monitor has an event, false if eventID is no UUID.
func hasEvent(ctx context.Context, tx *sqlx.Tx, id monitor.ID, eventID string) (found bool, err error) {
	if _, err := uuid.Parse(eventID); err != nil {
		return false, nil //nolint:nilerr // insertEvent refuses it
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
