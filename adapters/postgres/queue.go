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

// channel is where a transaction that adds to a queue says so.
const channel = "monitor_events"

// enqueue stores events as pending, in order, at the end of the queue of the
// monitor that the transaction holds; one that is there already is skipped.
func (s *Store) enqueue(ctx context.Context, tx *sqlx.Tx, held heldMonitor, events []event.Event) error {
	for _, e := range events {
		if err := s.store(ctx, tx, held, e); err != nil {
			return err
		}
	}
	if len(events) == 0 {
		return nil
	}
	return wake(ctx, tx)
}

func (s *Store) store(ctx context.Context, tx *sqlx.Tx, held heldMonitor, e event.Event) error {
	if _, err := uuid.Parse(e.ID); err != nil {
		return monitor.Errorf(monitor.InvalidConfig, "event_id %.60q of %s is no UUID", e.ID, e.Type)
	}
	if err := e.Valid(); err != nil {
		return monitor.Errorf(monitor.InvalidConfig, "%v", err)
	}
	body, err := event.NewPayload(e, string(held.id), held.streamURL, held.metadata, s.zone).Encode()
	if err != nil {
		return fmt.Errorf("store event %s: %w", e.ID, err)
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
		VALUES ($1, $2, $3, $4, $5, 'pending', $6)
		ON CONFLICT (id) DO NOTHING`,
		e.ID, held.id, e.Type, string(storable(body)), string(body), e.At.UTC())
	return refused("event "+e.ID, err)
}

// stored tells whether a monitor has an event. An id that is no UUID is none's.
func stored(ctx context.Context, tx *sqlx.Tx, id monitor.ID, eventID string) (is bool, err error) {
	if _, err := uuid.Parse(eventID); err != nil {
		return false, nil //nolint:nilerr // it is refused where it is to be stored
	}
	err = tx.GetContext(ctx, &is, `SELECT EXISTS (SELECT FROM monitor_events WHERE id = $1 AND monitor_id = $2)`, eventID, id)
	return is, err
}

// wake tells all listening gateways, once the transaction is committed.
func wake(ctx context.Context, tx *sqlx.Tx) error {
	_, err := tx.ExecContext(ctx, `NOTIFY `+channel)
	return err
}

// storable is JSON as JSONB takes it: a NUL character, which a tool's output
// may well hold, becomes U+FFFD. An event is never refused for one; the bytes
// that are sent keep it.
func storable(json []byte) []byte {
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
		case json[i] == '\\' && i+1 < len(json): // an escape is two bytes at least: \\u0000 is no NUL
			out = append(out, json[i], json[i+1])
			i++
		default:
			out = append(out, json[i])
		}
	}
	return out
}
