package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const incidentColumns = `i.id, i.seq, i.monitor_id, i.state, i.severity, i.conditions, i.started_at, i.opened_at, i.resolved_at, i.resolved_by,
	i.quiet_sec, i.reopened, i.acknowledged_by, i.acknowledged_at, i.acknowledged_severity, i.acknowledgements, i.severity_now,
	i.false_positive, i.picture, i.updated_at`

// goingOn selects incidents that are open, and resolved ones in which a condition lasts.
const goingOn = `(i.state = 'open' OR i.due_at IS NOT NULL)`

// incidentRow is a row of incidents, with columns of its monitor where they are selected. An
// incident.Incident cannot be scanned: the row has nulls, JSON and seconds.
type incidentRow struct {
	ID                   string            `db:"id"`
	Seq                  int64             `db:"seq"`
	MonitorID            monitor.ID        `db:"monitor_id"`
	StreamURL            monitor.StreamURL `db:"stream_url"`
	Metadata             sql.NullString    `db:"metadata_text"`
	State                incident.State    `db:"state"`
	Severity             int               `db:"severity"`
	Conditions           []byte            `db:"conditions"`
	StartedAt            time.Time         `db:"started_at"`
	OpenedAt             time.Time         `db:"opened_at"`
	ResolvedAt           sql.NullTime      `db:"resolved_at"`
	ResolvedBy           string            `db:"resolved_by"`
	QuietSec             int               `db:"quiet_sec"`
	Reopened             int               `db:"reopened"`
	AcknowledgedBy       string            `db:"acknowledged_by"`
	AcknowledgedAt       sql.NullTime      `db:"acknowledged_at"`
	AcknowledgedSeverity int               `db:"acknowledged_severity"`
	Acknowledgements     []byte            `db:"acknowledgements"`
	SeverityNow          int               `db:"severity_now"`
	FalsePositive        *bool             `db:"false_positive"`
	Picture              []byte            `db:"picture"`
	UpdatedAt            time.Time         `db:"updated_at"`
}

// toIncident returns the incident. If a part cannot be read, it returns the rest with the error.
func (r incidentRow) toIncident() (*incident.Incident, error) {
	i := incident.Incident{
		ID:                   r.ID,
		State:                r.State,
		Severity:             r.Severity,
		SeverityNow:          r.SeverityNow,
		StartedAt:            r.StartedAt.UTC(),
		OpenedAt:             r.OpenedAt.UTC(),
		ResolvedAt:           timeOrZero(r.ResolvedAt),
		ResolvedBy:           r.ResolvedBy,
		Quiet:                time.Duration(r.QuietSec) * time.Second,
		Reopened:             r.Reopened,
		AcknowledgedBy:       r.AcknowledgedBy,
		AcknowledgedAt:       timeOrZero(r.AcknowledgedAt),
		AcknowledgedSeverity: r.AcknowledgedSeverity,
		FalsePositive:        r.FalsePositive,
	}
	if err := json.Unmarshal(r.Conditions, &i.Conditions); err != nil {
		return &i, fmt.Errorf("conditions of incident %s: %w", r.ID, err)
	}
	if err := json.Unmarshal(r.Acknowledgements, &i.Acknowledgements); err != nil {
		return &i, fmt.Errorf("acknowledgements of incident %s: %w", r.ID, err)
	}
	if r.Picture != nil {
		if err := json.Unmarshal(r.Picture, &i.Picture); err != nil {
			return &i, fmt.Errorf("picture of incident %s: %w", r.ID, err)
		}
	}
	return &i, nil
}

// incidentSteps are steps of the incidents of one monitor, in a transaction that holds the
// lock of its monitor, or of its newest incident. storeIncidents stores what they change.
type incidentSteps struct {
	monitorID monitor.ID
	tracker   *incident.Tracker
	now       time.Time // by the clock of the database, after all locks were taken
	opID      string    // of the action that is done; empty: none
	changes   []incident.Change
}

// lockNewestIncidents locks the newest incidents of monitors, in their order, and goes on from
// them. All steps have the time after the last lock.
func lockNewestIncidents(ctx context.Context, tx *sqlx.Tx, ids []monitor.ID) ([]*incidentSteps, error) {
	var rows []incidentRow
	err := tx.SelectContext(ctx, &rows, `
		SELECT i.* FROM unnest(CAST($1 AS text[])) AS wanted (id)
		CROSS JOIN LATERAL (
			SELECT `+incidentColumns+` FROM incidents i WHERE i.monitor_id = wanted.id ORDER BY i.seq DESC LIMIT 1 FOR UPDATE) AS i`, pq.Array(ids))
	if err != nil {
		return nil, err
	}
	var now time.Time
	if err := tx.GetContext(ctx, &now, `SELECT clock_timestamp()`); err != nil {
		return nil, err
	}
	all := make([]*incidentSteps, 0, len(ids))
	for _, id := range ids {
		var newest *incident.Incident
		if at := slices.IndexFunc(rows, func(r incidentRow) bool { return r.MonitorID == id }); at >= 0 {
			if newest, err = rows[at].toIncident(); err != nil {
				return nil, err
			}
		}
		all = append(all, &incidentSteps{monitorID: id, tracker: incident.NewTracker(newest), now: now})
	}
	return all, nil
}

// stepsFrom goes on from a locked incident.
func stepsFrom(ctx context.Context, tx *sqlx.Tx, id monitor.ID, locked *incident.Incident) (*incidentSteps, error) {
	s := &incidentSteps{monitorID: id, tracker: incident.NewTracker(locked)}
	err := tx.GetContext(ctx, &s.now, `SELECT clock_timestamp()`)
	return s, err
}

// changed returns the incidents that the steps have changed, in order. Those that were opened get their IDs.
func (s *incidentSteps) changed() (all []*incident.Incident) {
	for _, c := range s.changes {
		if c.ID == "" {
			c.ID = uuid.Must(uuid.NewV7()).String()
		}
		if n := len(all); n == 0 || all[n-1] != c.Incident {
			all = append(all, c.Incident)
		}
	}
	return all
}

// logRows returns the new rows of incident_log.
func (s *incidentSteps) logRows() (rows []map[string]any) {
	for _, c := range s.changes {
		for _, e := range c.Log {
			var opID *string
			if e.By != "" && s.opID != "" { // the line of the action
				opID = &s.opID
			}
			var severity *int
			if e.Kind == incident.SeverityRaised {
				severity = &e.Severity
			}
			rows = append(rows, map[string]any{
				"incident_id": c.ID, "kind": e.Kind, "at": e.At.UTC(), "by": e.By, "text": e.Text, "false_positive": e.FalsePositive, "severity": severity, "op_id": opID,
			})
		}
	}
	return rows
}

// storeIncidentsOfEvents notes in each event the incident that it belongs to.
func storeIncidentsOfEvents(ctx context.Context, tx *sqlx.Tx, incidentOf map[string]*incident.Incident) error {
	var events, incidents []string
	for eventID, i := range incidentOf {
		events, incidents = append(events, eventID), append(incidents, i.ID)
	}
	if len(events) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE monitor_events e SET incident_id = n.incident_id
		FROM unnest(CAST($1 AS uuid[]), CAST($2 AS uuid[])) AS n (event_id, incident_id) WHERE e.id = n.event_id`, pq.Array(events), pq.Array(incidents))
	return err
}

// incidentRows returns the rows of incidents that have changed.
func (s *incidentSteps) incidentRows() (rows []map[string]any) {
	for _, i := range s.changed() {
		rows = append(rows, map[string]any{
			"id": i.ID, "monitor_id": s.monitorID, "state": i.State, "severity": i.Severity, "conditions": i.Conditions,
			"started_at": i.StartedAt.UTC(), "opened_at": i.OpenedAt.UTC(), "resolved_at": timeOrNull(i.ResolvedAt), "resolved_by": i.ResolvedBy,
			"quiet_sec": int(i.Quiet / time.Second), "reopened": i.Reopened,
			"acknowledged_by": i.AcknowledgedBy, "acknowledged_at": timeOrNull(i.AcknowledgedAt), "acknowledged_severity": i.AcknowledgedSeverity,
			"acknowledgements": append([]incident.Acknowledgement{}, i.Acknowledgements...), "severity_now": i.SeverityNow,
			"false_positive": i.FalsePositive, "picture": i.Picture, "due_at": timeOrNull(i.DueAt()), "updated_at": s.now.UTC(),
		})
	}
	return rows
}

// timeOrNull is null in JSON for the zero time.
func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// saveIncidents stores incidents in the order of $1, and new lines of their logs in the
// order of $2, and wakes the dispatchers. An incident of a monitor comes before its next, because one may be open.
const saveIncidents = `
	WITH saved AS (
		INSERT INTO incidents (id, monitor_id, state, severity, conditions, started_at, opened_at, resolved_at, resolved_by,
		                       quiet_sec, reopened, acknowledged_by, acknowledged_at, acknowledged_severity, acknowledgements, severity_now, false_positive, picture, due_at, updated_at)
		SELECT id, monitor_id, state, severity, conditions, started_at, opened_at, resolved_at, resolved_by,
		       quiet_sec, reopened, acknowledged_by, acknowledged_at, acknowledged_severity, acknowledgements, severity_now, false_positive, picture, due_at, updated_at
		FROM json_populate_recordset(CAST(NULL AS incidents), $1)
		ON CONFLICT (id) DO UPDATE SET
			state = excluded.state, severity = excluded.severity, conditions = excluded.conditions, started_at = excluded.started_at,
			resolved_at = excluded.resolved_at, resolved_by = excluded.resolved_by, quiet_sec = excluded.quiet_sec, reopened = excluded.reopened,
			acknowledged_by = excluded.acknowledged_by, acknowledged_at = excluded.acknowledged_at, acknowledged_severity = excluded.acknowledged_severity,
			acknowledgements = excluded.acknowledgements, severity_now = excluded.severity_now,
			false_positive = excluded.false_positive, picture = excluded.picture, due_at = excluded.due_at, updated_at = excluded.updated_at,
			unrouted = incidents.unrouted + 1),
	logged AS (
		INSERT INTO incident_log (incident_id, kind, at, by, text, false_positive, severity, op_id)
		SELECT incident_id, kind, at, by, text, false_positive, severity, op_id FROM json_populate_recordset(CAST(NULL AS incident_log), $2))
	SELECT pg_notify('` + deliveriesChannel + `', '')`

// storeIncidents stores what the steps of different monitors have changed. What it stores is to be
// routed.
func storeIncidents(ctx context.Context, tx *sqlx.Tx, all ...*incidentSteps) error {
	incidents, log := []map[string]any{}, []map[string]any{}
	for _, s := range all {
		incidents, log = append(incidents, s.incidentRows()...), append(log, s.logRows()...)
	}
	if len(incidents) == 0 {
		return nil
	}
	incidentsJSON, err := json.Marshal(incidents)
	if err != nil {
		return fmt.Errorf("incidents: %w", err)
	}
	logJSON, err := json.Marshal(log)
	if err != nil {
		return fmt.Errorf("log of incidents: %w", err)
	}
	_, err = tx.ExecContext(ctx, saveIncidents, string(incidentsJSON), string(logJSON))
	return err
}

// feedChanges returns the changes of the feed for every incident that was changed.
func (s *incidentSteps) feedChanges() (all []feedChange) {
	for _, i := range s.changed() {
		all = append(all, incidentChange(i.ID))
	}
	return all
}

// recordIncidents takes what was found into the incidents of different monitors, in the order of
// their IDs. It returns the changes of the feed, and the incidents by the IDs of their events.
func recordIncidents(ctx context.Context, tx *sqlx.Tx, all []found) (changes []feedChange, incidentOf map[string]*incident.Incident, err error) {
	var concerned []monitor.ID
	inputs, sentAt := map[monitor.ID][]incident.Found{}, map[monitor.ID]time.Time{}
	for _, f := range all {
		if in := f.inputs(); len(in) > 0 {
			concerned, inputs[f.monitor.id] = append(concerned, f.monitor.id), in
			if f.report != nil {
				sentAt[f.monitor.id] = f.report.SentAt
			}
		}
	}
	if len(concerned) == 0 {
		return nil, nil, nil
	}
	if err := addCriteria(ctx, tx, inputs); err != nil {
		return nil, nil, err
	}
	steps, err := lockNewestIncidents(ctx, tx, concerned)
	if err != nil {
		return nil, nil, err
	}
	incidentOf = map[string]*incident.Incident{}
	for _, s := range steps {
		incident.AdjustClock(inputs[s.monitorID], sentAt[s.monitorID], s.now)
		for _, in := range inputs[s.monitorID] {
			s.changes = append(s.changes, s.tracker.Step(s.now, in.Input)...)
			if i := s.tracker.Concerned(); i != nil && in.EventID != "" {
				incidentOf[in.EventID] = i
			}
		}
		changes = append(changes, s.feedChanges()...)
	}
	if err := storeIncidents(ctx, tx, steps...); err != nil {
		return nil, nil, err
	}
	return changes, incidentOf, storeIncidentsOfEvents(ctx, tx, incidentOf)
}

// addCriteria adds to alerts what counted as bad, by the configs that the monitors have now.
// A config that cannot be read costs these numbers, not the incident.
func addCriteria(ctx context.Context, tx *sqlx.Tx, inputs map[monitor.ID][]incident.Found) error {
	var alerted []monitor.ID
	for id, all := range inputs {
		if slices.ContainsFunc(all, func(f incident.Found) bool {
			began, ok := f.Input.(incident.Began)
			return ok && began.Alert != nil
		}) {
			alerted = append(alerted, id)
		}
	}
	if len(alerted) == 0 {
		return nil
	}
	var rows []struct {
		ID     monitor.ID `db:"id"`
		Config []byte     `db:"config"`
	}
	if err := tx.SelectContext(ctx, &rows, `SELECT id, config FROM monitors WHERE id = ANY ($1)`, pq.Array(alerted)); err != nil {
		return err
	}
	for _, r := range rows {
		var config monitor.Config
		if json.Unmarshal(r.Config, &config) == nil {
			incident.AddCriteria(inputs[r.ID], config.Value)
		}
	}
	return nil
}
