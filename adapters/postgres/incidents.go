package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
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

const incidentColumns = `i.id, i.seq, i.monitor_id, i.state, i.severity, i.conditions, i.started_at, i.opened_at, i.resolved_at,
	i.quiet_sec, i.reopened, i.acknowledged_by, i.acknowledged_at, i.false_positive, i.picture, i.updated_at`

type incidentRow struct {
	ID             string         `db:"id"`
	Seq            int64          `db:"seq"`
	MonitorID      monitor.ID     `db:"monitor_id"`
	StreamURL      string         `db:"stream_url"`
	State          incident.State `db:"state"`
	Severity       int            `db:"severity"`
	Conditions     []byte         `db:"conditions"`
	StartedAt      time.Time      `db:"started_at"`
	OpenedAt       time.Time      `db:"opened_at"`
	ResolvedAt     sql.NullTime   `db:"resolved_at"`
	QuietSec       int            `db:"quiet_sec"`
	Reopened       int            `db:"reopened"`
	AcknowledgedBy string         `db:"acknowledged_by"`
	AcknowledgedAt sql.NullTime   `db:"acknowledged_at"`
	FalsePositive  *bool          `db:"false_positive"`
	Picture        []byte         `db:"picture"`
	UpdatedAt      time.Time      `db:"updated_at"`
}

func (r incidentRow) toIncident() (*incident.Incident, error) {
	i := incident.Incident{
		ID:             r.ID,
		State:          r.State,
		Severity:       r.Severity,
		StartedAt:      r.StartedAt.UTC(),
		OpenedAt:       r.OpenedAt.UTC(),
		ResolvedAt:     timeOrZero(r.ResolvedAt),
		Quiet:          time.Duration(r.QuietSec) * time.Second,
		Reopened:       r.Reopened,
		AcknowledgedBy: r.AcknowledgedBy,
		AcknowledgedAt: timeOrZero(r.AcknowledgedAt),
		FalsePositive:  r.FalsePositive,
	}
	if err := json.Unmarshal(r.Conditions, &i.Conditions); err != nil {
		return nil, errInvalidRecord{fmt.Errorf("conditions of incident %s: %w", r.ID, err)}
	}
	if r.Picture != nil {
		if err := json.Unmarshal(r.Picture, &i.Picture); err != nil {
			return nil, errInvalidRecord{fmt.Errorf("picture of incident %s: %w", r.ID, err)}
		}
	}
	return &i, nil
}

// incidentTx changes the incidents of one monitor in a transaction that holds the lock
// of its monitor, or of its newest incident.
type incidentTx struct {
	*sqlx.Tx
	monitorID monitor.ID
	tracker   *incident.Tracker
	now       time.Time // by the clock of the database, after all locks were taken
	opID      string    // of the action that is done; empty: none
	changed   []*incident.Incident
}

// newIncidentTx goes on from the newest incident of a monitor, which it locks.
func newIncidentTx(ctx context.Context, tx *sqlx.Tx, id monitor.ID) (*incidentTx, error) {
	var row incidentRow
	var newest *incident.Incident
	err := tx.GetContext(ctx, &row, `SELECT `+incidentColumns+` FROM incidents i WHERE i.monitor_id = $1 ORDER BY i.seq DESC LIMIT 1 FOR UPDATE`, id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return nil, err
	default:
		if newest, err = row.toIncident(); err != nil {
			return nil, err
		}
	}
	return incidentTxFrom(ctx, tx, id, newest)
}

func incidentTxFrom(ctx context.Context, tx *sqlx.Tx, id monitor.ID, locked *incident.Incident) (*incidentTx, error) {
	t := &incidentTx{Tx: tx, monitorID: id, tracker: incident.NewTracker(locked)}
	err := tx.GetContext(ctx, &t.now, `SELECT clock_timestamp()`)
	return t, err
}

// step takes in an input and stores what it changes.
func (t *incidentTx) step(ctx context.Context, in incident.Input) error {
	for _, c := range t.tracker.Step(t.now, in) {
		if c.Incident.ID == "" {
			c.Incident.ID = uuid.Must(uuid.NewV7()).String()
		}
		if err := t.save(ctx, c.Incident); err != nil {
			return err
		}
		for _, e := range c.Log {
			if err := t.addEntry(ctx, c.Incident.ID, e); err != nil {
				return err
			}
		}
		if n := len(t.changed); n == 0 || t.changed[n-1] != c.Incident {
			t.changed = append(t.changed, c.Incident)
		}
	}
	return nil
}

// takeIn takes in what was found, and notes in each event the incident that it belongs to.
func (t *incidentTx) takeIn(ctx context.Context, inputs []incident.Found) error {
	events := map[string][]string{} // by incident
	for _, in := range inputs {
		if err := t.step(ctx, in.Input); err != nil {
			return err
		}
		if newest := t.tracker.Newest(); newest != nil && in.EventID != "" {
			events[newest.ID] = append(events[newest.ID], in.EventID)
		}
	}
	for id, eventIDs := range events {
		if _, err := t.ExecContext(ctx, `UPDATE monitor_events SET incident_id = $1 WHERE id = ANY (CAST($2 AS uuid[]))`, id, pq.Array(eventIDs)); err != nil {
			return err
		}
	}
	return nil
}

func (t *incidentTx) save(ctx context.Context, i *incident.Incident) error {
	conditions, err := json.Marshal(i.Conditions)
	if err != nil {
		return fmt.Errorf("conditions of incident %s: %w", i.ID, err)
	}
	var picture sql.NullString
	if i.Picture != nil {
		raw, err := json.Marshal(i.Picture)
		if err != nil {
			return fmt.Errorf("picture of incident %s: %w", i.ID, err)
		}
		picture = nullText(raw)
	}
	_, err = t.ExecContext(ctx, `
		INSERT INTO incidents (id, monitor_id, state, severity, conditions, started_at, opened_at, resolved_at,
		                       quiet_sec, reopened, acknowledged_by, acknowledged_at, false_positive, picture, due_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, CAST($14 AS jsonb), $15, $16)
		ON CONFLICT (id) DO UPDATE SET
			state = excluded.state, severity = excluded.severity, conditions = excluded.conditions, started_at = excluded.started_at,
			resolved_at = excluded.resolved_at, quiet_sec = excluded.quiet_sec, reopened = excluded.reopened,
			acknowledged_by = excluded.acknowledged_by, acknowledged_at = excluded.acknowledged_at,
			false_positive = excluded.false_positive, picture = excluded.picture, due_at = excluded.due_at, updated_at = excluded.updated_at`,
		i.ID, t.monitorID, i.State, i.Severity, string(conditions), i.StartedAt.UTC(), i.OpenedAt.UTC(), nullTime(i.ResolvedAt),
		int(i.Quiet/time.Second), i.Reopened, i.AcknowledgedBy, nullTime(i.AcknowledgedAt), i.FalsePositive, picture, nullTime(i.DueAt()), t.now)
	return err
}

func (t *incidentTx) addEntry(ctx context.Context, id string, e incident.Entry) error {
	var opID sql.NullString
	if e.By != "" { // the line of the action
		opID = nullText([]byte(t.opID))
	}
	_, err := t.ExecContext(ctx, `
		INSERT INTO incident_log (incident_id, kind, at, by, text, false_positive, op_id) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		id, e.Kind, e.At.UTC(), e.By, e.Text, e.FalsePositive, opID)
	return err
}

// changes returns the data of incident.updated for every incident that was changed.
func (t *incidentTx) changes() (all []feed.Data) {
	for _, i := range t.changed {
		all = append(all, feed.NewIncident(t.monitorID, *i))
	}
	return all
}

// found is what a transaction has found out about the trouble of a monitor.
type found struct {
	events  []event.Event // stored by this transaction
	signals []monitor.Signal
	ended   *incident.MonitorEnded // the monitor is not active when the transaction ends
}

// recordIncidents takes what was found into the incidents of a locked monitor. It
// returns the changes that the caller appends to the feed. Refused changes are
// logged and left out: an alert never waits for the record.
func (db *database) recordIncidents(ctx context.Context, tx *sqlx.Tx, id monitor.ID, f found) ([]feed.Data, error) {
	inputs := incident.Inputs(f.events, f.signals)
	if f.ended != nil {
		inputs = append(inputs, incident.Found{Input: *f.ended})
	}
	if len(inputs) == 0 {
		return nil, nil
	}
	var changes []feed.Data
	err := db.optionally(ctx, tx, func() error {
		if err := addCriteria(ctx, tx, id, inputs); err != nil {
			return err
		}
		t, err := newIncidentTx(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := t.takeIn(ctx, inputs); err != nil {
			return err
		}
		changes = t.changes()
		return nil
	}, func(err error) {
		changes = nil
		db.log.Warn("the incident of a report could not be stored and is left out, the report and its events are stored: report the defect with error",
			"monitor_id", string(id), "error", err.Error())
	})
	return changes, err
}

// addCriteria adds to alerts what counted as bad, by the config that the monitor has now.
// A config that cannot be read costs these numbers, not the incident.
func addCriteria(ctx context.Context, tx *sqlx.Tx, id monitor.ID, inputs []incident.Found) error {
	alerted := slices.ContainsFunc(inputs, func(f incident.Found) bool {
		began, is := f.Input.(incident.Began)
		return is && began.Alert != nil
	})
	if !alerted {
		return nil
	}
	var raw []byte
	if err := tx.GetContext(ctx, &raw, `SELECT config FROM monitors WHERE id = $1`, id); err != nil {
		return err
	}
	var config monitor.Config
	if json.Unmarshal(raw, &config) == nil {
		incident.AddCriteria(inputs, config.Value)
	}
	return nil
}
