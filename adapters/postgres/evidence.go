package postgres

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
)

// EvidenceStore stores the records of evidence.
type EvidenceStore struct{ db *database }

const evidenceColumns = `id, monitor_id, event_id, incident_id, condition, phase, class, note, created_at`

type evidenceRow struct {
	ID         string         `db:"id"`
	MonitorID  string         `db:"monitor_id"`
	EventID    string         `db:"event_id"`
	IncidentID sql.NullString `db:"incident_id"`
	Condition  trouble.Name   `db:"condition"`
	Phase      string         `db:"phase"`
	Class      string         `db:"class"`
	Note       string         `db:"note"`
	CreatedAt  time.Time      `db:"created_at"`
}

func (r evidenceRow) toRecord() evidence.Record {
	return evidence.Record{
		ID:         evidence.ID(r.ID),
		MonitorID:  monitor.ID(r.MonitorID),
		EventID:    r.EventID,
		IncidentID: r.IncidentID.String,
		Condition:  r.Condition,
		Phase:      evidence.Phase(r.Phase),
		Class:      evidence.Class(r.Class),
		Note:       r.Note,
		CreatedAt:  r.CreatedAt.UTC(),
	}
}

type evidenceFileRow struct {
	EvidenceID string          `db:"evidence_id"`
	Variant    string          `db:"variant"`
	SHA256     []byte          `db:"sha256"`
	Size       int64           `db:"size"`
	Width      int             `db:"width"`
	Height     int             `db:"height"`
	TakenAt    time.Time       `db:"taken_at"`
	Measure    sql.NullFloat64 `db:"measure"`

	RenditionHeight int `db:"rendition_height"`
}

func (r evidenceFileRow) toFile() evidence.File {
	f := evidence.File{
		Variant: evidence.Variant(r.Variant), Size: r.Size, Width: r.Width, Height: r.Height, RenditionHeight: r.RenditionHeight, TakenAt: r.TakenAt.UTC(),
	}
	copy(f.Digest[:], r.SHA256)
	if r.Measure.Valid {
		f.Measure = &r.Measure.Float64
	}
	return f
}

// ReserveBlob implements evidences.Writer. A claimed blob (ClaimOrphanedBlobs) is
// not reserved: its deletion has begun. The lock of the monitor makes uploads at once wait, so
// that they do not exceed its quota together.
func (s *EvidenceStore) ReserveBlob(ctx context.Context, id monitor.ID, generation int, f evidence.File) error {
	return s.db.inTx(ctx, "reserve a blob for "+string(id), func(tx *sqlx.Tx) error {
		m, err := lockMonitor(ctx, tx, id)
		if err != nil {
			return err
		}
		if m.generation != generation {
			return monitor.ErrSuperseded
		}
		var used int64
		if err := tx.GetContext(ctx, &used, `
			SELECT CAST(COALESCE(sum(size), 0) AS bigint) FROM evidence_blobs
			WHERE monitor_id = $1 AND counted_at > now() - make_interval(secs => $2)`, id, evidence.QuotaPeriod.Seconds()); err != nil {
			return err
		}
		var inserted bool // xmax = 0: no version of the row was there before
		err = tx.GetContext(ctx, &inserted, `
			INSERT INTO evidence_blobs (sha256, size, monitor_id, counted_at) VALUES ($1, $2, $3, now())
			ON CONFLICT (sha256) DO UPDATE SET reserved_at = now() WHERE evidence_blobs.deleting_at IS NULL
			RETURNING xmax = 0`, f.Digest[:], f.Size, id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return evidences.ErrBlobBusy
		case err != nil || !inserted: // another upload has stored the blob, or tries to
			return err
		}
		return f.CheckQuota(used)
	})
}

// AddEvidence implements evidences.Writer.
func (s *EvidenceStore) AddEvidence(ctx context.Context, generation int, r evidence.Record) (evidence.Record, error) {
	var stored evidence.Record
	err := s.db.inTx(ctx, "store evidence "+string(r.ID), func(tx *sqlx.Tx) error {
		m, err := lockMonitor(ctx, tx, r.MonitorID)
		if err != nil {
			return err
		}
		if m.generation != generation {
			return monitor.ErrSuperseded
		}
		changed, err := upsertEvidence(ctx, tx, r)
		if err != nil {
			return err
		}
		for _, f := range r.Files {
			added, err := addEvidenceFile(ctx, tx, r.ID, f)
			if err != nil {
				return err
			}
			changed = changed || added
		}
		if stored, err = readEvidence(ctx, tx, r.ID); err != nil || !changed {
			return err
		}
		changes, err := s.showIncident(ctx, tx, stored)
		if err != nil {
			return err
		}
		return addToFeed(ctx, tx, append(changes, evidenceChange(stored.ID))...)
	})
	return stored, err
}

// showIncident gives the best picture of a record to its incident, if that is the
// newest one of its monitor. It returns what that changes.
func (s *EvidenceStore) showIncident(ctx context.Context, tx *sqlx.Tx, r evidence.Record) (changes []feedChange, err error) {
	f, clarity, is := r.BestPicture()
	if !is || r.IncidentID == "" {
		return nil, nil
	}
	parked, err := s.db.orPark(ctx, tx, lockedMonitor{id: r.MonitorID}, func() error {
		locked, err := lockNewestIncidents(ctx, tx, []monitor.ID{r.MonitorID})
		if err != nil {
			return err
		}
		steps := locked[0]
		newest := steps.tracker.Newest()
		if newest == nil || newest.ID != r.IncidentID {
			return nil
		}
		steps.changes = steps.tracker.Step(steps.now, incident.PictureAdded{Picture: incident.Picture{
			EvidenceID: string(r.ID), Variant: string(f.Variant), Condition: r.Condition, Clarity: clarity, TakenAt: f.TakenAt,
		}})
		changes = steps.feedChanges()
		return storeIncidents(ctx, tx, steps)
	})
	if parked {
		changes = nil
	}
	return changes, err
}

// incidentOf returns the incident of an event and its severity; "": none is known.
func incidentOf(ctx context.Context, tx *sqlx.Tx, id monitor.ID, eventID string) (incidentID string, severity int, err error) {
	var row struct {
		ID       string `db:"id"`
		Severity int    `db:"severity"`
	}
	err = tx.GetContext(ctx, &row, `
		SELECT i.id, i.severity FROM monitor_events e JOIN incidents i ON i.id = e.incident_id
		WHERE e.id = $1 AND e.monitor_id = $2`, eventID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, nil
	}
	return row.ID, row.Severity, err
}

// requireEvent returns nil if a new record is of an event of its monitor, of which there are few
// records. Errors: *monitor.Error evidence.Conflict.
func requireEvent(ctx context.Context, tx *sqlx.Tx, r evidence.Record) error {
	var event struct {
		Exists  bool `db:"exists"`
		Records int  `db:"records"`
	}
	if err := tx.GetContext(ctx, &event, `
		SELECT EXISTS (SELECT 1 FROM monitor_events WHERE id = $1 AND monitor_id = $2) AS exists,
		       (SELECT count(*) FROM evidence WHERE event_id = $1) AS records`, r.EventID, r.MonitorID); err != nil {
		return err
	}
	switch {
	case !event.Exists:
		return monitor.Errorf(evidence.Conflict, "%s is no event of monitor %s", r.EventID, r.MonitorID)
	case event.Records >= evidence.MaxRecordsPerEvent:
		return monitor.Errorf(evidence.Conflict, "event %s has %d records of evidence already", r.EventID, event.Records)
	}
	return nil
}

// upsertEvidence stores a record, or the note of a stored one. It reports whether
// anything changed.
func upsertEvidence(ctx context.Context, tx *sqlx.Tx, r evidence.Record) (changed bool, err error) {
	var existing evidenceRow
	err = tx.GetContext(ctx, &existing, `SELECT `+evidenceColumns+` FROM evidence WHERE id = $1 FOR UPDATE`, r.ID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	incidentID, severity, errIncident := incidentOf(ctx, tx, r.MonitorID, r.EventID)
	if errIncident != nil {
		return false, errIncident
	}
	r.Class = r.Class.Raise(evidence.ClassOf(severity, false))
	if err != nil { // there is none yet
		if err := requireEvent(ctx, tx, r); err != nil {
			return false, err
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO evidence (`+evidenceColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			r.ID, r.MonitorID, r.EventID, nullText([]byte(incidentID)), r.Condition, r.Phase, r.Class, r.Note, r.CreatedAt)
		return err == nil, err
	}
	if old := existing.toRecord(); old.MonitorID != r.MonitorID || old.EventID != r.EventID || old.Phase != r.Phase || old.Condition != r.Condition {
		return false, monitor.Errorf(evidence.Conflict, "evidence %s belongs to event %s of monitor %s (%s, %s); use another id",
			r.ID, old.EventID, old.MonitorID, old.Condition, old.Phase)
	}
	note, class := existing.Note, evidence.Class(existing.Class).Raise(r.Class)
	if r.Note != "" {
		note = r.Note
	}
	if note == existing.Note && string(class) == existing.Class && incidentID == existing.IncidentID.String {
		return false, nil
	}
	_, err = tx.ExecContext(ctx, `UPDATE evidence SET note = $2, class = $3, incident_id = COALESCE($4, incident_id) WHERE id = $1`,
		r.ID, note, class, nullText([]byte(incidentID)))
	return err == nil, err
}

// addEvidenceFile stores a file whose blob the blob store has. FOR SHARE keeps the
// blob from being claimed as an orphan until the transaction ends. It reports whether
// the file is new.
func addEvidenceFile(ctx context.Context, tx *sqlx.Tx, id evidence.ID, f evidence.File) (added bool, err error) {
	var digest []byte
	err = tx.GetContext(ctx, &digest, `SELECT sha256 FROM evidence_files WHERE evidence_id = $1 AND variant = $2`, id, f.Variant)
	switch {
	case err == nil && string(digest) == string(f.Digest[:]):
		return false, nil
	case err == nil:
		return false, monitor.Errorf(evidence.Conflict, "evidence %s has another %s already, %x", id, f.Variant, digest)
	case !errors.Is(err, sql.ErrNoRows):
		return false, err
	}
	err = tx.GetContext(ctx, &digest, `SELECT sha256 FROM evidence_blobs WHERE sha256 = $1 AND deleting_at IS NULL FOR SHARE`, f.Digest[:])
	if errors.Is(err, sql.ErrNoRows) {
		return false, evidences.ErrBlobBusy
	}
	if err != nil {
		return false, err
	}
	measure := sql.NullFloat64{}
	if f.Measure != nil {
		measure = sql.NullFloat64{Float64: *f.Measure, Valid: true}
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO evidence_files (evidence_id, variant, sha256, size, width, height, rendition_height, taken_at, measure)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		id, f.Variant, f.Digest[:], f.Size, f.Width, f.Height, f.RenditionHeight, f.TakenAt.UTC(), measure)
	return err == nil, err
}

// SetEvidenceClass implements evidences.Writer.
func (s *EvidenceStore) SetEvidenceClass(ctx context.Context, id evidence.ID, c evidence.Class) (evidence.Record, error) {
	var r evidence.Record
	err := s.db.inTx(ctx, "set the class of evidence "+string(id), func(tx *sqlx.Tx) (err error) {
		if _, err := tx.ExecContext(ctx, `UPDATE evidence SET class = $2 WHERE id = $1`, id, c); err != nil {
			return err
		}
		if r, err = readEvidence(ctx, tx, id); err != nil {
			return err
		}
		return addToFeed(ctx, tx, evidenceChange(r.ID))
	})
	return r, err
}

// Evidence implements evidences.Reader.
func (s *EvidenceStore) Evidence(ctx context.Context, id evidence.ID) (evidence.Record, error) {
	r, err := readEvidence(ctx, s.db, id)
	return r, wrapError(ctx, "read evidence "+string(id), err)
}

func readEvidence(ctx context.Context, q sqlx.QueryerContext, id evidence.ID) (evidence.Record, error) {
	var rows []evidenceRow
	if err := sqlx.SelectContext(ctx, q, &rows, `SELECT `+evidenceColumns+` FROM evidence WHERE id = $1`, id); err != nil {
		return evidence.Record{}, err
	}
	if len(rows) == 0 {
		return evidence.Record{}, monitor.Errorf(evidence.NotFound, "there is no evidence %s, or it has expired", id)
	}
	records, err := withFiles(ctx, q, rows)
	if err != nil {
		return evidence.Record{}, err
	}
	return records[0], nil
}

// ListEvidence implements evidences.Reader.
func (s *EvidenceStore) ListEvidence(ctx context.Context, f evidences.Filter) ([]evidence.Record, error) {
	var rows []evidenceRow
	err := s.db.SelectContext(ctx, &rows, `
		SELECT `+evidenceColumns+` FROM evidence
		WHERE ($1 = '' OR monitor_id = $1)
		  AND (CAST($2 AS uuid) IS NULL OR incident_id = $2)
		  AND (CAST($3 AS uuid) IS NULL OR event_id = $3)
		  AND (CAST($4 AS uuid) IS NULL OR id < $4)
		ORDER BY id DESC LIMIT $5`,
		f.MonitorID, nullText([]byte(f.IncidentID)), nullText([]byte(f.EventID)), nullText([]byte(f.Before)), f.Limit)
	if err != nil {
		return nil, wrapError(ctx, "list evidence", err)
	}
	records, err := withFiles(ctx, s.db, rows)
	return records, wrapError(ctx, "list evidence", err)
}

// AlertOf implements evidences.Reader. An alert and its recovery have the same onset.
func (s *EvidenceStore) AlertOf(ctx context.Context, recoveryID string, alert event.Type) (eventID string, err error) {
	err = s.db.GetContext(ctx, &eventID, `
		SELECT a.id FROM monitor_events r JOIN monitor_events a ON a.monitor_id = r.monitor_id AND a.event_type = $2
		  AND a.payload->'data'->>'started_at' = r.payload->'data'->>'started_at'
		WHERE r.id = $1 ORDER BY a.created_at DESC LIMIT 1`, recoveryID, alert)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return eventID, wrapError(ctx, "find the alert of recovery "+recoveryID, err)
}

// withFiles reads the files of records, all at once.
func withFiles(ctx context.Context, q sqlx.QueryerContext, rows []evidenceRow) ([]evidence.Record, error) {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	var files []evidenceFileRow
	err := sqlx.SelectContext(ctx, q, &files, `
		SELECT evidence_id, variant, sha256, size, width, height, rendition_height, taken_at, measure
		FROM evidence_files WHERE evidence_id = ANY (CAST($1 AS uuid[]))`, pq.Array(ids))
	if err != nil {
		return nil, err
	}
	byRecord := map[string][]evidence.File{}
	for _, v := range evidence.Variants() { // the order in which a record shows them
		for _, f := range files {
			if f.Variant == string(v) {
				byRecord[f.EvidenceID] = append(byRecord[f.EvidenceID], f.toFile())
			}
		}
	}
	records := make([]evidence.Record, len(rows))
	for i, r := range rows {
		records[i] = r.toRecord()
		records[i].Files = byRecord[r.ID]
	}
	return records, nil
}
