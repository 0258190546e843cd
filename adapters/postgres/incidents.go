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
	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const incidentColumns = `i.id, i.seq, i.monitor_id, i.updated_at, to_json(i) AS incident`

// goingOn selects incidents that are open, and resolved ones in which a condition lasts.
const goingOn = `(i.state = 'open' OR i.due_at IS NOT NULL)`

// incidentRow is a row of incidents, with columns of its monitor where they are selected. The columns beside its JSON
// say which incident it is even if that cannot be read.
type incidentRow struct {
	ID        string            `db:"id"`
	Seq       int64             `db:"seq"`
	MonitorID monitor.ID        `db:"monitor_id"`
	UpdatedAt time.Time         `db:"updated_at"`
	Incident  []byte            `db:"incident"` // a storedIncident
	StreamURL monitor.StreamURL `db:"stream_url"`
	Metadata  sql.NullString    `db:"metadata_text"`
	Labels    labels            `db:"labels"`
	Hints     []byte            `db:"hints"` // NULL: there is none
}

// toIncident returns the incident. If a part cannot be read, it returns the rest with the error.
func (r incidentRow) toIncident() (*incident.Incident, error) { return decodeIncident(r.Incident) }

// storedIncident is a row of incidents as JSON. The columns have the names that an incident has in its JSON, but for
// quiet_sec.
type storedIncident struct {
	*incident.Incident

	MonitorID monitor.ID `json:"monitor_id"`
	QuietSec  int        `json:"quiet_sec"`
	DueAt     *time.Time `json:"due_at"`
	UpdatedAt time.Time  `json:"updated_at"`

	OpinionDueAt *time.Time `json:"opinion_due_at"`
}

// decodeIncident returns the incident of a row as JSON. If a part cannot be read, it returns the rest with the error.
func decodeIncident(row []byte) (*incident.Incident, error) {
	var i incident.Incident
	stored := storedIncident{Incident: &i}
	err := json.Unmarshal(row, &stored)
	i.Quiet = time.Duration(stored.QuietSec) * time.Second
	for _, at := range []*time.Time{&i.StartedAt, &i.OpenedAt, &i.ResolvedAt, &i.AcknowledgedAt, &i.AskedAt} {
		*at = at.UTC()
	}
	if err != nil {
		err = fmt.Errorf("incident %s: %w", i.ID, err)
	}
	return &i, err
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

// logRow is a new row of incident_log as JSON. Its columns have the names that an entry has in its JSON.
type logRow struct {
	incident.Entry

	IncidentID string  `json:"incident_id"`
	OpID       *string `json:"op_id"` // null: it is not the line of an action
}

// logRows returns the new rows of incident_log.
func (s *incidentSteps) logRows() (rows []logRow) {
	for _, c := range s.changes {
		for _, e := range c.Log {
			row := logRow{Entry: e, IncidentID: c.ID}
			if e.By != "" && s.opID != "" {
				row.OpID = &s.opID
			}
			rows = append(rows, row)
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
func (s *incidentSteps) incidentRows() (rows []storedIncident) {
	for _, i := range s.changed() {
		rows = append(rows, storedIncident{
			Incident: i, MonitorID: s.monitorID, QuietSec: int(i.Quiet / time.Second), DueAt: timeOrNull(i.DueAt()), UpdatedAt: s.now.UTC(),
			OpinionDueAt: timeOrNull(i.OpinionDueAt()),
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
		INSERT INTO incidents (id, monitor_id, state, severity, conditions, started_at, opened_at, resolved_at, resolved_by, resolved_by_pause,
		                       quiet_sec, reopened, acknowledged_by, acknowledged_at, acknowledged_severity, acknowledgements, severity_now, false_positive, picture, due_at, updated_at,
		                       asked_at, opinion_due_at)
		SELECT id, monitor_id, state, severity, conditions, started_at, opened_at, resolved_at, resolved_by, resolved_by_pause,
		       quiet_sec, reopened, acknowledged_by, acknowledged_at, acknowledged_severity, acknowledgements, severity_now, false_positive, picture, due_at, updated_at,
		       asked_at, opinion_due_at
		FROM json_populate_recordset(CAST(NULL AS incidents), $1)
		ON CONFLICT (id) DO UPDATE SET
			state = excluded.state, severity = excluded.severity, conditions = excluded.conditions, started_at = excluded.started_at,
			resolved_at = excluded.resolved_at, resolved_by = excluded.resolved_by, resolved_by_pause = excluded.resolved_by_pause, quiet_sec = excluded.quiet_sec, reopened = excluded.reopened,
			acknowledged_by = excluded.acknowledged_by, acknowledged_at = excluded.acknowledged_at, acknowledged_severity = excluded.acknowledged_severity,
			acknowledgements = excluded.acknowledgements, severity_now = excluded.severity_now,
			false_positive = excluded.false_positive, picture = excluded.picture, due_at = excluded.due_at, updated_at = excluded.updated_at,
			asked_at = excluded.asked_at, opinion_due_at = excluded.opinion_due_at,
			unrouted = incidents.unrouted + 1),
	logged AS (
		INSERT INTO incident_log (incident_id, kind, at, by, text, false_positive, severity, verdict, op_id)
		SELECT incident_id, kind, at, by, text, false_positive, severity, verdict, op_id FROM json_populate_recordset(CAST(NULL AS incident_log), $2))
	SELECT pg_notify('` + deliveriesChannel + `', '')`

// storeIncidents stores what the steps of different monitors have changed. What it stores is to be
// routed.
func storeIncidents(ctx context.Context, tx *sqlx.Tx, all ...*incidentSteps) error {
	incidents, log := []storedIncident{}, []logRow{}
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

// addCriteria adds to alerts what counted as bad, by the configs that the monitors have now, and the likely cause, by the signals of
// their encoders. A config or signal that cannot be read costs only these: the incident is stored.
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
		Ingest []byte     `db:"ingest"`
		Now    time.Time  `db:"now"`
	}
	if err := tx.SelectContext(ctx, &rows, `SELECT id, config, `+youngIngest+` AS ingest, now() AS now FROM monitors m WHERE id = ANY ($1)`, pq.Array(alerted)); err != nil {
		return err
	}
	for _, r := range rows {
		var config monitor.Config
		if json.Unmarshal(r.Config, &config) == nil {
			incident.AddCriteria(inputs[r.ID], config.Value)
		}
		var health ingest.Health
		if len(r.Ingest) > 0 && json.Unmarshal(r.Ingest, &health) == nil {
			incident.AddCause(inputs[r.ID], health, r.Now)
		}
	}
	return nil
}
