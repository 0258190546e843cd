package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery/destination"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

type destinationDeliveryRow struct {
	ID            string         `db:"id"`
	DestinationID string         `db:"destination_id"`
	MonitorID     sql.NullString `db:"monitor_id"`
	EventID       sql.NullString `db:"event_id"`
	EventType     sql.NullString `db:"event_type"`
	Body          sql.NullString `db:"body"`
	Sequence      sql.NullInt64  `db:"sequence"`
	IncidentID    sql.NullString `db:"incident_id"`
	StormID       sql.NullString `db:"storm_id"`
	Notice        []byte         `db:"notice"`
	Told          []byte         `db:"told"`
	Tried         int            `db:"tried"`
	RoundBeganAt  time.Time      `db:"round_began_at"`
	AgeSec        float64        `db:"age"`
	Now           time.Time      `db:"now"`
}

// readDeliveries reads the deliveries of a lease with what their messages tell. One that
// cannot be read is logged and fails: it would keep a place of its destination for ever.
func (o *DestinationOutbox) readDeliveries(ctx context.Context, ids []string, leaseID string) ([]destination.Delivery, error) {
	routing, err := o.db.routing.current(ctx, o.db)
	if err != nil {
		return nil, err
	}
	var rows []destinationDeliveryRow
	err = o.db.SelectContext(ctx, &rows, `
		SELECT x.id, x.destination_id, x.monitor_id, x.event_id, e.event_type, e.body, x.sequence, x.incident_id, x.storm_id, x.notice, x.told,
		       x.tried, x.round_began_at, EXTRACT(EPOCH FROM clock_timestamp() - x.round_began_at) AS age, clock_timestamp() AS now
		FROM deliveries x LEFT JOIN monitor_events e ON e.id = x.event_id
		WHERE x.id = ANY (CAST($1 AS uuid[])) AND x.lease = $2 ORDER BY x.due_at, x.id`, pq.Array(ids), leaseID)
	if err != nil {
		return nil, err
	}
	facts, err := readFacts(ctx, o.db, rows)
	if err != nil {
		return nil, err
	}
	leased := make([]destination.Delivery, 0, len(rows))
	for _, r := range rows {
		age := max(time.Duration(r.AgeSec*float64(time.Second)), 0)
		d := destination.Delivery{ID: r.ID, LeaseID: leaseID, Attempts: r.Tried, FirstDueAt: r.RoundBeganAt.UTC(), Age: age, Now: r.Now.UTC()}
		var known bool
		if d.Destination, known = routing.Destinations[r.DestinationID]; !known {
			continue // routing has logged why
		}
		if d.Destination.SecretsLost { // the next lease knows it
			if _, err := o.db.ExecContext(ctx, `UPDATE deliveries SET leased_until = NULL, lease = NULL WHERE id = $1 AND lease = $2`, r.ID, leaseID); err != nil {
				return nil, err
			}
			continue
		}
		if err := facts.describe(&d, r, routing); err != nil {
			o.db.log.Error("a delivery cannot be read and is not made: report the defect with error",
				"delivery_id", r.ID, "destination_id", r.DestinationID, "error", err)
			if _, err := o.db.ExecContext(ctx, failUnreadable, r.ID, leaseID, storableText("the gateway cannot read it: "+err.Error())); err != nil {
				return nil, err
			}
			continue
		}
		leased = append(leased, d)
	}
	return leased, nil
}

const failUnreadable = `
	UPDATE deliveries SET state = 'failed', last_error = $3, due_at = NULL, blocks_until = NULL, leased_until = NULL, lease = NULL
	WHERE id = $1 AND lease = $2`

// facts are the incidents and storms of leased threads, by ID.
type facts struct {
	incidents map[string]routedIncident
	storms    map[string]stormWithIncidents
}

// readFacts reads what the messages of leased threads are about.
func readFacts(ctx context.Context, db *database, rows []destinationDeliveryRow) (facts, error) {
	f := facts{incidents: map[string]routedIncident{}}
	var incidentIDs, stormIDs []string
	for _, r := range rows {
		if r.IncidentID.Valid {
			incidentIDs = append(incidentIDs, r.IncidentID.String)
		}
		if r.StormID.Valid {
			stormIDs = append(stormIDs, r.StormID.String)
		}
	}
	if len(incidentIDs) > 0 {
		incidents, err := db.readRoutedIncidents(ctx, db, `i.id = ANY (CAST($1 AS uuid[]))`, pq.Array(incidentIDs))
		if err != nil {
			return f, err
		}
		for _, i := range incidents {
			f.incidents[i.ID] = i
			if i.inStorm {
				stormIDs = append(stormIDs, i.stormID)
			}
		}
	}
	storms, err := db.readStorms(ctx, db, stormIDs)
	f.storms = storms
	return f, err
}

// describe adds what a row is about to its delivery.
func (f facts) describe(d *destination.Delivery, r destinationDeliveryRow, routing notify.Routing) error {
	var told notify.Notified
	if r.Told != nil {
		if err := json.Unmarshal(r.Told, &told); err != nil {
			return fmt.Errorf("what was told: %w", err)
		}
	}
	switch {
	case r.EventID.Valid:
		d.Event = &destination.Event{
			EventID: r.EventID.String, EventType: event.Type(r.EventType.String), MonitorID: monitor.ID(r.MonitorID.String),
			Body: []byte(r.Body.String), Sequence: r.Sequence.Int64,
		}
	case r.IncidentID.Valid:
		i, is := f.incidents[r.IncidentID.String]
		if !is {
			return fmt.Errorf("incident %s is missing", r.IncidentID.String)
		}
		metadata := json.RawMessage(i.metadata)
		if len(metadata) == 0 {
			metadata = json.RawMessage(`{}`)
		}
		d.Incident = &destination.Incident{
			ThreadFacts: destination.ThreadFacts{Situation: notify.SituationOf(i.Incident), Notified: told, Policy: i.policy(d.Destination, routing, r.Now, f.storms)},
			Incident:    i.Incident, MonitorID: i.monitorID, Good: i.good, Number: i.number, StreamURL: i.streamURL, Metadata: metadata,
		}
	case r.StormID.Valid:
		s, is := f.storms[r.StormID.String]
		if !is {
			return fmt.Errorf("storm %s is missing", r.StormID.String)
		}
		own := s.Storm.Of(d.Destination, routing)
		d.Storm = &destination.Storm{
			ThreadFacts: destination.ThreadFacts{Situation: own.Situation(r.Now), Notified: told, Policy: s.Storm.Policy(d.Destination, routing, r.Now)},
			ID:          s.ID, Storm: message.Storm{Streams: own.Streams(), Live: s.Storm.Among(), Condition: s.Storm.First.Condition, BlindSpot: own.BlindSpot()},
		}
	default:
		d.Notice = &message.Notice{}
		return json.Unmarshal(r.Notice, d.Notice)
	}
	return nil
}
