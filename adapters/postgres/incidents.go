package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/feed"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const incidentColumns = `i.id, i.seq, i.monitor_id, i.state, i.severity, i.conditions, i.started_at, i.opened_at, i.resolved_at, i.resolved_by,
	i.quiet_sec, i.reopened, i.acknowledged_by, i.acknowledged_at, i.acknowledged_severity, i.acknowledgements, i.severity_now,
	i.false_positive, i.picture, i.updated_at`

// goingOn selects incidents that are open, and resolved ones in which a condition lasts.
const goingOn = `(i.state = 'open' OR i.due_at IS NOT NULL)`

type incidentRow struct {
	ID                   string         `db:"id"`
	Seq                  int64          `db:"seq"`
	MonitorID            monitor.ID     `db:"monitor_id"`
	StreamURL            string         `db:"stream_url"`
	State                incident.State `db:"state"`
	Severity             int            `db:"severity"`
	Conditions           []byte         `db:"conditions"`
	StartedAt            time.Time      `db:"started_at"`
	OpenedAt             time.Time      `db:"opened_at"`
	ResolvedAt           sql.NullTime   `db:"resolved_at"`
	ResolvedBy           string         `db:"resolved_by"`
	QuietSec             int            `db:"quiet_sec"`
	Reopened             int            `db:"reopened"`
	AcknowledgedBy       string         `db:"acknowledged_by"`
	AcknowledgedAt       sql.NullTime   `db:"acknowledged_at"`
	AcknowledgedSeverity int            `db:"acknowledged_severity"`
	Acknowledgements     []byte         `db:"acknowledgements"`
	SeverityNow          int            `db:"severity_now"`
	FalsePositive        *bool          `db:"false_positive"`
	Picture              []byte         `db:"picture"`
	UpdatedAt            time.Time      `db:"updated_at"`
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
		return &i, errInvalidRecord{fmt.Errorf("conditions of incident %s: %w", r.ID, err)}
	}
	if r.Acknowledgements != nil { // not read for routes
		if err := json.Unmarshal(r.Acknowledgements, &i.Acknowledgements); err != nil {
			return &i, errInvalidRecord{fmt.Errorf("acknowledgements of incident %s: %w", r.ID, err)}
		}
	}
	if r.Picture != nil {
		if err := json.Unmarshal(r.Picture, &i.Picture); err != nil {
			return &i, errInvalidRecord{fmt.Errorf("picture of incident %s: %w", r.ID, err)}
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
	changed   []*incident.Incident
	opened    []string         // the IDs of these that a step has opened or reopened
	log       []map[string]any // new rows of incident_log

	incidentOf map[string]string // the IDs of incidents by those of their events
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

// stepsFrom goes on from a locked incident; nil: the monitor has none.
func stepsFrom(ctx context.Context, tx *sqlx.Tx, id monitor.ID, locked *incident.Incident) (*incidentSteps, error) {
	s := &incidentSteps{monitorID: id, tracker: incident.NewTracker(locked)}
	err := tx.GetContext(ctx, &s.now, `SELECT clock_timestamp()`)
	return s, err
}

// step takes in an input.
func (s *incidentSteps) step(in incident.Input) {
	for _, c := range s.tracker.Step(s.now, in) {
		if c.Incident.ID == "" {
			c.Incident.ID = uuid.Must(uuid.NewV7()).String()
		}
		if n := len(s.changed); n == 0 || s.changed[n-1] != c.Incident {
			s.changed = append(s.changed, c.Incident)
		}
		for _, e := range c.Log {
			s.addEntry(c.Incident.ID, e)
			if e.Kind == incident.WasOpened || e.Kind == incident.WasReopened {
				s.opened = append(s.opened, c.Incident.ID)
			}
		}
	}
}

func (s *incidentSteps) addEntry(id string, e incident.Entry) {
	var opID *string
	if e.By != "" && s.opID != "" { // the line of the action
		opID = &s.opID
	}
	var severity *int
	if e.Kind == incident.SeverityRaised {
		severity = &e.Severity
	}
	s.log = append(s.log, map[string]any{
		"incident_id": id, "kind": e.Kind, "at": e.At.UTC(), "by": e.By, "text": e.Text, "false_positive": e.FalsePositive, "severity": severity, "op_id": opID,
	})
}

// takeIn takes in what was found, and notes the incident of each event.
func (s *incidentSteps) takeIn(inputs []incident.Found) {
	s.incidentOf = map[string]string{}
	for _, in := range inputs {
		s.step(in.Input)
		if i := s.tracker.Concerned(); i != nil && in.EventID != "" {
			s.incidentOf[in.EventID] = i.ID
		}
	}
}

// storeIncidentsOfEvents notes in each event the incident that it belongs to.
func storeIncidentsOfEvents(ctx context.Context, tx *sqlx.Tx, all []*incidentSteps) error {
	var events, incidents []string
	for _, s := range all {
		for eventID, incidentID := range s.incidentOf {
			events, incidents = append(events, eventID), append(incidents, incidentID)
		}
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
	for _, i := range s.changed {
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
// order of $2. An incident of a monitor comes before its next, because one may be open.
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
			false_positive = excluded.false_positive, picture = excluded.picture, due_at = excluded.due_at, updated_at = excluded.updated_at)
	INSERT INTO incident_log (incident_id, kind, at, by, text, false_positive, severity, op_id)
	SELECT incident_id, kind, at, by, text, false_positive, severity, op_id FROM json_populate_recordset(CAST(NULL AS incident_log), $2)`

// storeIncidents stores what the steps of different monitors have changed. It sends one
// statement, because each more would prolong the locks of the transaction by a round trip.
func storeIncidents(ctx context.Context, tx *sqlx.Tx, all ...*incidentSteps) error {
	incidents, log := []map[string]any{}, []map[string]any{}
	for _, s := range all {
		incidents, log = append(incidents, s.incidentRows()...), append(log, s.log...)
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

// changes returns the data of incident.updated for every incident that was changed.
func (s *incidentSteps) changes() (all []feed.Data) {
	for _, i := range s.changed {
		all = append(all, feed.NewIncident(s.monitorID, *i))
	}
	return all
}

// found is what a transaction has found out about the trouble of a locked monitor.
type found struct {
	monitor lockedMonitor
	events  []event.Event // stored by this transaction
	signals []monitor.Signal
	sentAt  time.Time              // by the clock of their times; zero: that of the database
	ended   *incident.MonitorEnded // the monitor is not active when the transaction ends
}

func (f found) inputs() []incident.Found {
	inputs := incident.Inputs(f.events, f.signals)
	if f.ended != nil {
		inputs = append(inputs, incident.Found{Input: *f.ended})
	}
	return inputs
}

// recordIncidents takes what was found into the incidents of different monitors, in the
// order of their IDs, and stores what destinations get of it. It returns the changes that
// the caller appends to the feed. Refused changes are logged and left out: an alert never
// waits for a record that is damaged. A refusal that passes, as that of a full disk, is an
// error: the worker reports the events again, and people are notified of the incident.
func (db *database) recordIncidents(ctx context.Context, tx *sqlx.Tx, run runPart, all ...found) ([]feed.Data, error) {
	var concerned []monitor.ID
	inputs, sentAt := map[monitor.ID][]incident.Found{}, map[monitor.ID]time.Time{}
	for _, f := range all {
		if in := f.inputs(); len(in) > 0 {
			concerned, inputs[f.monitor.id], sentAt[f.monitor.id] = append(concerned, f.monitor.id), in, f.sentAt
		}
	}
	var changes []feed.Data
	var steps []*incidentSteps
	unrecorded := false
	var passing error
	if len(concerned) > 0 {
		err := run(ctx, tx, func() (err error) {
			if err := addCriteria(ctx, tx, inputs); err != nil {
				return err
			}
			if steps, err = lockNewestIncidents(ctx, tx, concerned); err != nil {
				return err
			}
			for _, s := range steps {
				incident.AdjustClock(inputs[s.monitorID], sentAt[s.monitorID], s.now)
				s.takeIn(inputs[s.monitorID])
				changes = append(changes, s.changes()...)
			}
			if err := storeIncidents(ctx, tx, steps...); err != nil {
				return err
			}
			return storeIncidentsOfEvents(ctx, tx, steps)
		}, func(err error) {
			if isPassing(err) {
				passing = fmt.Errorf("store the incident of a report: %w", err)
				return
			}
			changes, steps, unrecorded = nil, nil, true
			db.log.Warn("the incident of a report could not be stored and is left out, the report and its events are stored: report the defect with error",
				"monitor_id", string(concerned[0]), "error", err.Error())
		})
		if err := cmp.Or(err, passing); err != nil {
			return nil, err
		}
	}
	c := routableChangesOf(steps...)
	for _, f := range all {
		c.addEvents(f, unrecorded)
	}
	return changes, db.fanOut(ctx, tx, run, c)
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
