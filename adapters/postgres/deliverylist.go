package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/application/monitors"
)

type deliveryRow struct {
	monitors.DeliveryRecord

	DestinationID   sql.NullString `db:"destination_id"`
	DestinationName sql.NullString `db:"name"`
	DestinationKind sql.NullString `db:"kind"`
	EncodedAttempts []byte         `db:"attempts"`
}

// toDelivery returns the delivery. If its attempts cannot be read, it returns the rest with the error.
func (r deliveryRow) toDelivery() (monitors.DeliveryRecord, error) {
	if r.DestinationID.Valid {
		r.Destination = &monitors.DeliveryDestination{ID: r.DestinationID.String, Name: r.DestinationName.String, Kind: r.DestinationKind.String}
	}
	err := json.Unmarshal(r.EncodedAttempts, &r.Attempts)
	return r.DeliveryRecord, err
}

// waits is the condition of a thread whose newest message was delivered and which is due
// later: for a repetition, or when a silence ends.
const waits = `(x.tried = 0 AND x.told IS NOT NULL AND x.due_at > now())`

// stateCondition selects deliveries to destinations that are shown in a state.
func stateCondition(state monitors.DeliveryState) string {
	condition := `x.state = '` + string(state) + `'`
	switch state {
	case monitors.DeliveryPending:
		return condition + ` AND ` + waits + ` IS NOT TRUE`
	case monitors.DeliveryDelivered:
		return `(` + condition + ` OR x.state = 'pending' AND ` + waits + `)`
	}
	return condition
}

// deliveryConditions returns what a query selects of deliveries x, and the arguments of these conditions.
func deliveryConditions(q monitors.DeliveryQuery) (conditions []string, args []any) {
	arg := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	add := func(condition string) { conditions = append(conditions, condition) }
	add(`x.state <> 'idle'`)
	if q.MonitorID != "" {
		add(`x.monitor_id = ` + arg(q.MonitorID))
	}
	if q.EventID != "" {
		add(`x.event_id = ` + arg(q.EventID))
	}
	if q.IncidentID != "" {
		id := arg(q.IncidentID)
		add(`x.id = ANY (ARRAY(SELECT id FROM deliveries WHERE incident_id = ` + id + `
			UNION ALL SELECT of.id FROM monitor_events i JOIN deliveries of ON of.event_id = i.id WHERE i.incident_id = ` + id + `))`) // each by its index: with OR the list of all is read
	}
	if q.State != "" {
		add(stateCondition(q.State))
	}
	if q.DestinationID != "" {
		add(`x.destination_id = ` + arg(q.DestinationID))
	}
	if !q.Before.CreatedAt.IsZero() {
		add(`(x.created_at, x.id) < (` + arg(q.Before.CreatedAt.UTC()) + `, CAST(` + arg(q.Before.ID) + ` AS uuid))`)
	}
	return conditions, args
}

// Deliveries implements monitors.EventStore. A thread in which nothing was said is not
// listed while there is nothing to tell.
func (s *EventStore) Deliveries(ctx context.Context, q monitors.DeliveryQuery) ([]monitors.DeliveryRecord, error) {
	conditions, args := deliveryConditions(q)
	var rows []deliveryRow
	err := s.db.SelectContext(ctx, &rows, fmt.Sprintf(`
		SELECT CASE WHEN x.destination_id IS NOT NULL THEN x.id END AS delivery_id, x.destination_id, d.name, d.kind,
		       CASE WHEN x.notice #> '{Channel,Body}' IS NULL THEN CAST(x.event_id AS text) ELSE x.notice #>> '{Channel,EventID}' END AS event_id,
		       COALESCE(e.event_type, x.notice #>> '{Channel,EventType}') AS event_type, COALESCE(e.body, x.notice #>> '{Channel,Body}', '') AS body,
		       CASE WHEN x.state = 'pending' AND %[3]s THEN 'delivered' ELSE x.state END AS state,
		       x.attempts, NULLIF(x.last_error, '') AS last_error, x.created_at, x.delivered_at, x.destination_id IS NULL AND %[4]s AS long_schedule,
		       x.monitor_id, m.stream_url, NULLIF(x.notice #>> '{Channel,ChannelID}', '') AS channel_id, c.address AS channel_url, COALESCE(x.incident_id, e.incident_id) AS incident_id, CASE WHEN x.storm IS NOT NULL THEN x.id END AS storm_id, x.sequence,
		       CASE WHEN x.told IS NULL THEN x.tried ELSE GREATEST(x.tried, 1) END AS tried,
		       CASE WHEN x.state = 'pending' AND %[3]s IS NOT TRUE THEN x.due_at END AS next_attempt_at
		FROM deliveries x LEFT JOIN destinations d ON d.id = x.destination_id LEFT JOIN monitor_events e ON e.id = x.event_id LEFT JOIN monitors m ON m.id = x.monitor_id
		     LEFT JOIN channels c ON c.id = CAST(NULLIF(x.notice #>> '{Channel,ChannelID}', '') AS uuid)
		WHERE d.deleted_at IS NULL AND %[1]s
		ORDER BY x.created_at DESC, x.id DESC LIMIT %[2]d`, strings.Join(conditions, ` AND `), q.Limit, waits, onLongSchedule), args...)
	if err != nil {
		return nil, wrapError(ctx, "list deliveries", err)
	}
	page := make([]monitors.DeliveryRecord, 0, len(rows))
	for _, r := range rows {
		d, err := r.toDelivery()
		if err != nil {
			logPartly(s.db.log, "deliveries", r.ID(), err)
		}
		page = append(page, d)
	}
	return page, nil
}
