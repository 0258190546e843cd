package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

type deliveryRecordRow struct {
	eventRow

	MonitorID     string         `db:"monitor_id"`
	StreamURL     string         `db:"stream_url"`
	IncidentID    sql.NullString `db:"incident_id"`
	Tried         int            `db:"webhook_attempts"`
	NextAttemptAt sql.NullTime   `db:"next_attempt_at"`
}

func (r deliveryRecordRow) toDelivery() (registry.DeliveryRecord, error) {
	record, err := r.toRecord()
	if err != nil {
		return registry.DeliveryRecord{}, err
	}
	d := registry.DeliveryRecord{
		EventRecord: record, MonitorID: monitor.ID(r.MonitorID), StreamURL: monitor.StreamURL(r.StreamURL),
		IncidentID: r.IncidentID.String, Tried: r.Tried,
	}
	if d.State() == registry.DeliveryPending {
		d.NextAttemptAt = timeOrZero(r.NextAttemptAt)
	}
	return d, nil
}

// storedState is the webhook_status of a state.
var storedState = map[registry.DeliveryState]string{
	registry.DeliveryPending:   "pending",
	registry.DeliveryDelivered: "sent",
	registry.DeliveryFailed:    "failed",
}

// Deliveries implements registry.EventStore.
func (s *EventStore) Deliveries(ctx context.Context, q registry.DeliveryQuery) ([]registry.DeliveryRecord, error) {
	var where []string
	var args []any
	add := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	if q.MonitorID != "" {
		add(`e.monitor_id = $%d`, q.MonitorID)
	}
	if q.EventID != "" {
		add(`e.id = $%d`, q.EventID)
	}
	if q.IncidentID != "" {
		add(`e.incident_id = $%d`, q.IncidentID)
	}
	if stored, is := storedState[q.State]; is {
		where = append(where, `e.webhook_status = '`+stored+`'`) // written out, the planner uses a partial index
	}
	if !q.Before.CreatedAt.IsZero() {
		args = append(args, q.Before.CreatedAt.UTC(), q.Before.ID)
		where = append(where, fmt.Sprintf(`(e.created_at, e.id) < ($%d, CAST($%d AS uuid))`, len(args)-1, len(args)))
	}
	var rows []deliveryRecordRow
	err := s.db.SelectContext(ctx, &rows, fmt.Sprintf(`
		SELECT e.id, e.event_type, e.body, e.webhook_status, e.attempts, e.webhook_last_error, e.created_at, e.sent_at, e.resolved_at, e.long_schedule,
		       e.monitor_id, m.stream_url, e.incident_id, e.webhook_attempts, e.next_attempt_at
		FROM monitor_events e JOIN monitors m ON m.id = e.monitor_id%s
		ORDER BY e.created_at DESC, e.id DESC LIMIT %d`, whereOf(where), q.Limit), args...)
	if err != nil {
		return nil, wrapError(ctx, "list deliveries", err)
	}
	page := make([]registry.DeliveryRecord, 0, len(rows))
	for _, r := range rows {
		d, err := r.toDelivery()
		if err != nil {
			return nil, err
		}
		page = append(page, d)
	}
	return page, nil
}
