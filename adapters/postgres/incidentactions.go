package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// IncidentStore reads incidents, and changes them on behalf of operators and of time.
type IncidentStore struct{ db *database }

const incidentsOfMonitors = ` FROM incidents i JOIN monitors m ON m.id = i.monitor_id`

func (r incidentRow) toRecord() (incidents.Incident, error) {
	i, err := r.toIncident()
	record := incidents.Incident{Incident: *i, Seq: r.Seq, MonitorID: r.MonitorID, StreamURL: r.StreamURL, Labels: monitor.Labels(r.Labels), UpdatedAt: r.UpdatedAt.UTC()}
	if r.Hints != nil {
		err = errors.Join(err, json.Unmarshal(r.Hints, &record.Hints))
	}
	return record, err
}

// ListIncidents implements incidents.Store.
func (s *IncidentStore) ListIncidents(ctx context.Context, f incidents.Filter) ([]incidents.Incident, error) {
	var where []string
	var args []any
	add := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	if f.State != "" {
		add(`i.state = $%d`, f.State)
	}
	if f.Condition != "" {
		raw, err := json.Marshal([]map[string]incident.Name{{"condition": f.Condition}})
		if err != nil {
			return nil, fmt.Errorf("list incidents: %w", err)
		}
		add(`i.conditions @> CAST($%d AS jsonb)`, string(raw))
	}
	if f.MinSeverity > 0 {
		add(`i.severity >= $%d`, f.MinSeverity)
	}
	if f.MonitorID != "" {
		add(`i.monitor_id = $%d`, f.MonitorID)
	}
	if len(f.Labels) > 0 {
		add(haveLabels, labels(f.Labels))
	}
	if !f.From.IsZero() {
		add(`(i.resolved_at IS NULL OR i.resolved_at >= $%d)`, f.From.UTC())
	}
	if !f.To.IsZero() {
		add(`i.opened_at < $%d`, f.To.UTC())
	}
	if f.Before > 0 {
		add(`i.seq < $%d`, f.Before)
	}
	query := `SELECT ` + incidentColumns + `, m.stream_url, m.labels` + incidentsOfMonitors
	if len(where) > 0 {
		query += ` WHERE ` + strings.Join(where, ` AND `)
	}
	var rows []incidentRow
	if err := s.db.SelectContext(ctx, &rows, fmt.Sprintf(`%s ORDER BY i.seq DESC LIMIT %d`, query, f.Limit), args...); err != nil {
		return nil, wrapError(ctx, "list incidents", err)
	}
	page := make([]incidents.Incident, 0, len(rows))
	for _, r := range rows {
		i, err := r.toRecord()
		if err != nil {
			logPartly(s.db.log, "incidents", r.ID, err)
		}
		page = append(page, i)
	}
	return page, nil
}

// decodeEntry returns the line of a row of incident_log as JSON, whose columns have the names that an entry has in its JSON.
func decodeEntry(row []byte) (e incident.Entry, err error) {
	err = json.Unmarshal(row, &e)
	e.At = e.At.UTC()
	return e, err
}

// GetIncident implements incidents.Store.
func (s *IncidentStore) GetIncident(ctx context.Context, id string) (incidents.Incident, []incident.Entry, error) {
	var row incidentRow
	err := s.db.GetContext(ctx, &row, `SELECT `+incidentColumns+`, m.stream_url, m.labels, `+hintsOfIncident+incidentsOfMonitors+` WHERE i.id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return incidents.Incident{}, nil, incident.UnknownID(id)
	}
	var lines [][]byte
	if err == nil {
		err = s.db.SelectContext(ctx, &lines, `SELECT to_json(l) FROM incident_log l WHERE incident_id = $1 ORDER BY id DESC LIMIT $2`, id, incidents.MaxLog)
	}
	if err != nil {
		return incidents.Incident{}, nil, wrapError(ctx, "read incident "+id, err)
	}
	log := make([]incident.Entry, 0, len(lines))
	for _, line := range slices.Backward(lines) {
		e, err := decodeEntry(line)
		if err != nil {
			return incidents.Incident{}, nil, fmt.Errorf("read the log of incident %s: %w", id, err)
		}
		log = append(log, e)
	}
	i, err := row.toRecord()
	return i, log, err
}

// ActOnIncident implements incidents.Store. It locks the incident, so an op_id
// that is sent twice at the same time happens once. It returns when no message is in flight any more that was
// decided before the action: nothing is pushed about the incident as it was.
func (s *IncidentStore) ActOnIncident(ctx context.Context, id string, a incidents.Action) (incident.Entry, error) {
	var done incident.Entry
	err := s.db.inTx(ctx, "act on incident "+id, func(tx *sqlx.Tx) error {
		var row incidentRow
		err := tx.GetContext(ctx, &row, `SELECT `+incidentColumns+` FROM incidents i WHERE i.id = $1 FOR UPDATE`, id)
		if errors.Is(err, sql.ErrNoRows) {
			return incident.UnknownID(id)
		}
		if err != nil {
			return err
		}
		before, err := findAction(ctx, tx, id, a.OpID)
		if err != nil {
			return err
		}
		if before != nil {
			if done = *before; !a.Matches(done) {
				return incidents.ErrOpReused
			}
			return nil
		}
		if err := checkLogRoom(ctx, tx, id); err != nil {
			return err
		}
		locked, err := row.toIncident()
		if err != nil {
			return err
		}
		steps, err := stepsFrom(ctx, tx, row.MonitorID, locked)
		if err != nil {
			return err
		}
		steps.opID = a.OpID
		steps.changes = steps.tracker.Step(steps.now, a.Input())
		if err := storeIncidents(ctx, tx, steps); err != nil {
			return err
		}
		stored, err := findAction(ctx, tx, id, a.OpID)
		if err != nil {
			return err
		}
		done = *stored
		return addToFeed(ctx, tx, steps.feedChanges()...)
	})
	if err == nil && (a.Kind == incident.Acknowledged || a.Kind == incident.WasResolved) {
		s.awaitMessages(ctx, id)
	}
	return done, err
}

// messagesPoll is how often it is looked whether a message is still in flight.
const messagesPoll = 20 * time.Millisecond

// awaitMessages waits until no message about an incident is in flight, at most as long as one attempt takes. A
// message that was decided before the last change is leased before it, or found outdated: see leaveOutdated.
func (s *IncidentStore) awaitMessages(ctx context.Context, incidentID string) {
	for waited := time.Duration(0); waited < delivery.SendTimeout; waited += messagesPoll {
		var sending bool
		err := s.db.GetContext(ctx, &sending, `
			SELECT EXISTS (SELECT FROM deliveries x WHERE `+inFlight+` AND (x.incident_id = $1
			               OR x.id IN (SELECT storm_id FROM deliveries WHERE incident_id = $1)))`, incidentID)
		if err != nil || !sending || !wait.For(ctx, messagesPoll) {
			return
		}
	}
}

// findAction reads the line of an action that was done before; nil: it was not.
func findAction(ctx context.Context, tx *sqlx.Tx, id, opID string) (*incident.Entry, error) {
	var line []byte
	err := tx.GetContext(ctx, &line, `SELECT to_json(l) FROM incident_log l WHERE incident_id = $1 AND op_id = $2`, id, opID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no line and no error is the answer
	}
	if err != nil {
		return nil, err
	}
	e, err := decodeEntry(line)
	return &e, err
}

func checkLogRoom(ctx context.Context, tx *sqlx.Tx, id string) error {
	var lines int
	if err := tx.GetContext(ctx, &lines, `SELECT count(*) FROM incident_log WHERE incident_id = $1 AND op_id IS NOT NULL`, id); err != nil {
		return err
	}
	if lines >= incidents.MaxLog {
		return monitor.Errorf(monitor.InvalidConfig, "the incident has %d actions and notes, which is the maximum", lines)
	}
	return nil
}

// SweepIncidents implements incidents.Store. An incident that another transaction
// is changing is skipped; that transaction lets time pass, too, or the next sweep does.
// now(), unlike clock_timestamp(), lets the search end at the first one that is not due.
func (s *IncidentStore) SweepIncidents(ctx context.Context, limit int) (more bool, err error) {
	err = s.db.inTx(ctx, "sweep incidents", func(tx *sqlx.Tx) error {
		var rows []incidentRow
		err := tx.SelectContext(ctx, &rows, `
			SELECT `+incidentColumns+` FROM incidents i WHERE i.due_at <= now()
			ORDER BY i.due_at LIMIT $1 FOR UPDATE SKIP LOCKED`, limit)
		if more = len(rows) == limit; err != nil || len(rows) == 0 {
			return err
		}
		var now time.Time
		if err := tx.GetContext(ctx, &now, `SELECT clock_timestamp()`); err != nil {
			return err
		}
		swept, unreadable := s.db.letTimePass(rows, now, incident.Tick{})
		if len(unreadable) > 0 {
			if _, err := tx.ExecContext(ctx, `UPDATE incidents SET due_at = NULL WHERE id = ANY (CAST($1 AS uuid[]))`, pq.Array(unreadable)); err != nil {
				return err
			}
		}
		var changes []feedChange
		for _, steps := range swept {
			changes = append(changes, steps.feedChanges()...)
			if len(steps.changes) == 0 { // due_at is rounded, and may be a moment too early
				steps.changes = []incident.Change{{Incident: steps.tracker.Newest()}}
			}
		}
		if err := storeIncidents(ctx, tx, swept...); err != nil {
			return err
		}
		return addToFeed(ctx, tx, changes...)
	})
	return more, err
}

// letTimePass lets time change incidents, by an input that does. A row that cannot be read is logged and not
// looked at again before its next event: it would be first in every sweep.
func (db *database) letTimePass(rows []incidentRow, now time.Time, in incident.Input) (swept []*incidentSteps, unreadable []string) {
	for _, row := range rows {
		locked, err := row.toIncident()
		if err != nil {
			db.log.Warn("an incident cannot be read, time does not change it any more: report the defect with error",
				"incident_id", row.ID, "monitor_id", string(row.MonitorID), "error", err.Error())
			unreadable = append(unreadable, row.ID)
			continue
		}
		steps := &incidentSteps{monitorID: row.MonitorID, tracker: incident.NewTracker(locked), now: now}
		steps.changes = steps.tracker.Step(steps.now, in)
		swept = append(swept, steps)
	}
	return swept, unreadable
}
