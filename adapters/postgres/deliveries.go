package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

type deliveryRecordRow struct {
	ID              string         `db:"id"` // of the delivery to a destination, or of the event
	DestinationID   sql.NullString `db:"destination_id"`
	DestinationName sql.NullString `db:"name"`
	DestinationKind sql.NullString `db:"kind"`
	EventID         sql.NullString `db:"event_id"`
	EventType       sql.NullString `db:"event_type"`
	Body            sql.NullString `db:"body"`
	Status          string         `db:"status"`
	Attempts        []byte         `db:"attempts"`
	LastError       sql.NullString `db:"last_error"`
	CreatedAt       time.Time      `db:"created_at"`
	DeliveredAt     sql.NullTime   `db:"delivered_at"`
	ResolvedAt      sql.NullTime   `db:"resolved_at"`
	LongSchedule    bool           `db:"long_schedule"`
	MonitorID       sql.NullString `db:"monitor_id"`
	StreamURL       sql.NullString `db:"stream_url"`
	IncidentID      sql.NullString `db:"incident_id"`
	StormID         sql.NullString `db:"storm_id"`
	Sequence        sql.NullInt64  `db:"sequence"`
	Tried           int            `db:"tried"`
	DueAt           sql.NullTime   `db:"due_at"`
}

func (r deliveryRecordRow) toDelivery() (registry.DeliveryRecord, error) {
	d := registry.DeliveryRecord{
		EventRecord: registry.EventRecord{
			EventID: r.EventID.String, EventType: event.Type(r.EventType.String), Payload: json.RawMessage(r.Body.String), Status: r.Status,
			LastError: r.LastError.String, CreatedAt: r.CreatedAt.UTC(), SentAt: timeOrZero(r.DeliveredAt), ResolvedAt: timeOrZero(r.ResolvedAt),
			LongSchedule: r.LongSchedule,
		},
		MonitorID: monitor.ID(r.MonitorID.String), StreamURL: monitor.StreamURL(r.StreamURL.String), IncidentID: r.IncidentID.String,
		StormID: r.StormID.String, Sequence: r.Sequence.Int64, Tried: r.Tried,
	}
	if r.DestinationID.Valid {
		d.DeliveryID = r.ID
		d.Destination = &registry.DeliveryDestination{ID: r.DestinationID.String, Name: r.DestinationName.String, Kind: r.DestinationKind.String}
	}
	if d.State() == registry.DeliveryPending {
		d.NextAttemptAt = timeOrZero(r.DueAt)
	}
	if err := json.Unmarshal(r.Attempts, &d.Attempts); err != nil {
		return d, fmt.Errorf("attempts of delivery %s: %w", r.ID, err)
	}
	return d, nil
}

// storedState is the webhook_status of a state.
var storedState = map[registry.DeliveryState]string{
	registry.DeliveryPending:   "pending",
	registry.DeliveryDelivered: "sent",
	registry.DeliveryFailed:    "failed",
}

// waits is the condition of a thread whose newest message was delivered and which is due
// later: for a repetition, or when a silence ends.
const waits = `(x.tried = 0 AND x.told IS NOT NULL AND x.due_at > now())`

// stateCondition selects deliveries to destinations that are shown in a state.
func stateCondition(state registry.DeliveryState) string {
	condition := `x.state = '` + string(state) + `'`
	switch state {
	case registry.DeliveryPending:
		return condition + ` AND ` + waits + ` IS NOT TRUE`
	case registry.DeliveryDelivered:
		return `(` + condition + ` OR x.state = 'pending' AND ` + waits + `)`
	}
	return condition
}

// deliveryConditions returns what a query selects of monitor_events e and of deliveries x,
// and the arguments of these conditions.
func deliveryConditions(q registry.DeliveryQuery) (toCallbacks, toDestinations []string, args []any) {
	arg := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	toDestinations = []string{`x.state <> 'idle'`}
	both := func(callbacks, destinations string) {
		toCallbacks, toDestinations = append(toCallbacks, callbacks), append(toDestinations, destinations)
	}
	if q.MonitorID != "" {
		id := arg(q.MonitorID)
		both(`e.monitor_id = `+id, `x.monitor_id = `+id)
	}
	if q.EventID != "" {
		id := arg(q.EventID)
		both(`e.id = `+id, `x.event_id = `+id)
	}
	if q.IncidentID != "" {
		id := arg(q.IncidentID)
		both(`e.incident_id = `+id, `x.id = ANY (ARRAY(SELECT id FROM deliveries WHERE incident_id = `+id+`
			UNION ALL SELECT of.id FROM monitor_events i JOIN deliveries of ON of.event_id = i.id WHERE i.incident_id = `+id+`))`) // each by its index
	}
	if stored, is := storedState[q.State]; is { // written out, the planner uses a partial index
		both(`e.webhook_status = '`+stored+`'`, stateCondition(q.State))
	}
	if q.DestinationID != "" {
		both(`false`, `x.destination_id = `+arg(q.DestinationID))
	}
	if !q.Before.CreatedAt.IsZero() {
		place := `(` + arg(q.Before.CreatedAt.UTC()) + `, CAST(` + arg(q.Before.ID) + ` AS uuid))`
		both(`(e.created_at, e.id) < `+place, `(x.created_at, x.id) < `+place)
	}
	return toCallbacks, toDestinations, args
}

// Deliveries implements registry.EventStore. A thread in which nothing was said is not
// listed while there is nothing to tell.
func (s *EventStore) Deliveries(ctx context.Context, q registry.DeliveryQuery) ([]registry.DeliveryRecord, error) {
	toCallbacks, toDestinations, args := deliveryConditions(q)
	var rows []deliveryRecordRow
	err := s.db.SelectContext(ctx, &rows, fmt.Sprintf(`
		(SELECT e.id, CAST(NULL AS uuid) AS destination_id, NULL AS name, NULL AS kind, e.id AS event_id, e.event_type, e.body, e.webhook_status AS status,
		        e.attempts, e.webhook_last_error AS last_error, e.created_at, e.sent_at AS delivered_at, e.resolved_at, e.long_schedule,
		        e.monitor_id, m.stream_url, e.incident_id, CAST(NULL AS uuid) AS storm_id, CAST(NULL AS bigint) AS sequence, e.webhook_attempts AS tried, e.next_attempt_at AS due_at
		 FROM monitor_events e JOIN monitors m ON m.id = e.monitor_id%[1]s
		 ORDER BY e.created_at DESC, e.id DESC LIMIT %[2]d)
		UNION ALL
		(SELECT x.id, x.destination_id, d.name, d.kind, x.event_id, e.event_type, e.body, CASE WHEN x.state = 'pending' AND %[4]s THEN 'delivered' ELSE x.state END,
		        x.attempts, x.last_error, x.created_at, x.delivered_at, e.resolved_at, false,
		        x.monitor_id, m.stream_url, COALESCE(x.incident_id, e.incident_id), x.storm_id, x.sequence, CASE WHEN x.told IS NULL THEN x.tried ELSE GREATEST(x.tried, 1) END, x.due_at
		 FROM deliveries x JOIN destinations d ON d.id = x.destination_id AND d.deleted_at IS NULL LEFT JOIN monitor_events e ON e.id = x.event_id LEFT JOIN monitors m ON m.id = x.monitor_id%[3]s
		 ORDER BY x.created_at DESC, x.id DESC LIMIT %[2]d)
		ORDER BY created_at DESC, id DESC LIMIT %[2]d`, whereOf(toCallbacks), q.Limit, whereOf(toDestinations), waits), args...)
	if err != nil {
		return nil, wrapError(ctx, "list deliveries", err)
	}
	page := make([]registry.DeliveryRecord, 0, len(rows))
	for _, r := range rows {
		d, err := r.toDelivery()
		if err != nil {
			logPartly(s.db.log, "deliveries", r.ID, err)
		}
		page = append(page, d)
	}
	return page, nil
}
