package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// activePredicate selects active monitors. It equals the predicate of
// idx_monitors_stream_url_active. So the planner can use this index to find the active monitor of
// a stream.
const activePredicate = `status IN ('initializing', 'waiting', 'monitoring')`

// registrationLock serialises registrations across gateways. 21325 ("SM") is the
// first key of all advisory locks of this program.
const registrationLock = `SELECT pg_advisory_xact_lock(21325, 1)`

// MonitorStore stores monitors.
type MonitorStore struct{ db *database }

// Insert implements monitors.RegistrationStore. It succeeds if the monitor is stored already,
// because an earlier try with an unknown outcome may have stored it.
func (s *MonitorStore) Insert(ctx context.Context, m monitor.Monitor, limit int) error {
	return s.db.inTx(ctx, "register "+string(m.ID), func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, registrationLock); err != nil {
			return err
		}
		stored, err := s.db.insertMonitor(ctx, tx, m, limit)
		if err != nil || !stored {
			return err
		}
		return addToFeed(ctx, tx, monitorChange(m.ID))
	})
}

// smallestFreeNumber selects the number of a new monitor (section 16.6). Only registrationLock
// keeps two transactions from selecting the same.
const smallestFreeNumber = `SELECT COALESCE(
	(SELECT number FROM monitor_numbers WHERE free_at <= clock_timestamp() ORDER BY number LIMIT 1),
	(SELECT max(number) + 1 FROM monitor_numbers), 1)`

// insertMonitor stores a monitor if checkAdmission allows it. It returns false if
// the monitor is stored already. The transaction holds registrationLock.
func (db *database) insertMonitor(ctx context.Context, tx *sqlx.Tx, m monitor.Monitor, limit int) (stored bool, err error) {
	config, err := json.Marshal(m.Config)
	if err != nil {
		return false, fmt.Errorf("config: %w", err)
	}
	if err := checkAdmission(ctx, tx, m, limit); err != nil {
		return false, err
	}
	detectorEvents, err := encodeDetectorEvents(m.Statistics)
	if err != nil {
		return false, err
	}
	secret, err := db.sealStreamSecret(m)
	if err != nil {
		return false, err
	}
	until, heldSec := reservationEnd(m)
	result, err := tx.ExecContext(ctx, `
		WITH stored AS (
			INSERT INTO monitors (id, number, stream_url, callback_url, config, metadata, metadata_text,
			                      status, stream_status, health_video, health_audio, reason, generation,
			                      stream_secret, pod_name, created_at, updated_at, ended_at, reserved_until, labels, owner)
			VALUES ($1, (`+smallestFreeNumber+`), $2, $3, $4, CAST($5 AS jsonb), $6, $7,
			        COALESCE(NULLIF($8, ''), 'unknown'), COALESCE(NULLIF($9, ''), 'unknown'),
			        COALESCE(NULLIF($10, ''), 'unknown'), $11, $12, $13, $14, $15, $16, $17,
			        COALESCE(CAST($18 AS timestamptz), clock_timestamp() + make_interval(secs => $19)), CAST($25 AS jsonb), $26)
			ON CONFLICT (id) DO NOTHING
			RETURNING id, number),
		numbered AS (INSERT INTO monitor_numbers (number) SELECT number FROM stored ON CONFLICT (number) DO UPDATE SET free_at = NULL)
		INSERT INTO monitor_stats (monitor_id, total_segments, blackout_events, silence_events, last_check_at, detector_events)
		SELECT id, $20, $21, $22, $23, CAST($24 AS jsonb) FROM stored`,
		m.ID, m.StreamURL, m.CallbackURL, string(config), nullText(m.Metadata), nullText(m.Metadata), m.Status,
		m.StreamStatus, m.Health.Video, m.Health.Audio, m.Reason, m.Generation,
		secret, m.ID.WorkerName(), m.CreatedAt.UTC(), m.UpdatedAt.UTC(), nullTime(m.EndedAt), until, heldSec,
		m.Statistics.TotalSegmentsAnalyzed, m.Statistics.Alerts(detector.Blackout), m.Statistics.Alerts(detector.Silence), nullTime(m.Health.LastCheckAt), detectorEvents, labels(m.Labels), m.Owner)
	if err != nil {
		return false, metadataError(err)
	}
	rows, err := result.RowsAffected()
	if err == nil && rows > 0 && m.ChannelID != "" {
		err = giveToChannel(ctx, tx, m.ID, m.ChannelID)
	}
	return rows > 0, err
}

// metadataError names metadata as the wrong field if the database refused a value.
func metadataError(err error) error {
	if message, ok := refusedValue(err); ok {
		return monitor.Errorf(monitor.InvalidConfig, "metadata cannot be stored: %s; accepted is a JSON object of valid Unicode text without \\u0000", message)
	}
	return err
}

// reservationEnd returns when the reservation of a new monitor ends. One result is set:
// heldSec if only the registering gateway may start the monitor at first
// (monitor.Monitor.Held), in seconds after its insertion by the database's clock; until
// if the monitor waits for its scheduled start. Both are NULL without a reservation.
func reservationEnd(m monitor.Monitor) (until sql.NullTime, heldSec sql.NullFloat64) {
	if held := m.Held(); held > 0 {
		return until, sql.NullFloat64{Float64: held.Seconds(), Valid: true}
	}
	return nullTime(m.ReservedUntil), heldSec
}

// checkAdmission applies the duplicate rule and the maximum (decision A5). The transaction
// holds registrationLock. The check must be a separate statement after the lock: under
// READ COMMITTED a statement sees only transactions that were committed before it began.
func checkAdmission(ctx context.Context, tx *sqlx.Tx, m monitor.Monitor, limit int) error {
	var found struct {
		Active int            `db:"active"`
		Same   sql.NullString `db:"same"`
	}
	err := tx.GetContext(ctx, &found, `
		SELECT (`+countActive+`) AS active,
		       (SELECT id FROM monitors WHERE stream_url = $1 AND `+activePredicate+`) AS same`, m.StreamURL)
	switch {
	case err != nil:
		return err
	case found.Same.String == string(m.ID):
		return nil
	case found.Same.Valid:
		return monitor.DuplicateOf(m.StreamURL, monitor.ID(found.Same.String))
	case found.Active >= limit:
		return monitor.TooMany(found.Active, limit)
	}
	return nil
}

// ActiveStreams implements monitors.AdmissionReader.
func (s *MonitorStore) ActiveStreams(ctx context.Context, streams []monitor.StreamURL) (map[monitor.StreamURL]monitor.ID, int, error) {
	var rows []struct {
		ID        monitor.ID        `db:"id"`
		StreamURL monitor.StreamURL `db:"stream_url"`
	}
	var total int
	err := s.db.GetContext(ctx, &total, countActive)
	if err == nil {
		err = s.db.SelectContext(ctx, &rows, `SELECT id, stream_url FROM monitors WHERE stream_url = ANY($1) AND `+activePredicate, pq.Array(streams))
	}
	if err != nil {
		return nil, 0, wrapError(ctx, "read active streams", err)
	}
	watched := map[monitor.StreamURL]monitor.ID{}
	for _, row := range rows {
		watched[row.StreamURL] = row.ID
	}
	return watched, total, nil
}

// EndedOf implements monitors.RegistrationStore.
func (s *MonitorStore) EndedOf(ctx context.Context, owner string, streams []monitor.StreamURL) (map[monitor.StreamURL]monitor.Monitor, error) {
	var rows []struct {
		ID        monitor.ID        `db:"id"`
		StreamURL monitor.StreamURL `db:"stream_url"`
		Status    monitor.Status    `db:"status"`
		EndedAt   time.Time         `db:"ended_at"`
		Config    []byte            `db:"config"`
	}
	err := s.db.SelectContext(ctx, &rows, `
		SELECT DISTINCT ON (stream_url) id, stream_url, status, ended_at, config FROM monitors
		WHERE owner = $1 AND owner <> '' AND stream_url = ANY ($2) AND ended_at IS NOT NULL ORDER BY stream_url, ended_at DESC`, owner, pq.Array(streams))
	ended := map[monitor.StreamURL]monitor.Monitor{}
	for _, r := range rows {
		m := monitor.Monitor{ID: r.ID, StreamURL: r.StreamURL, Status: r.Status, EndedAt: r.EndedAt.UTC()}
		err = errors.Join(err, json.Unmarshal(r.Config, &m.Config))
		ended[r.StreamURL] = m
	}
	return ended, wrapError(ctx, "read what has ended of "+owner, err)
}

// Get implements monitors.MonitorGetter, supervisor.Store and routing.SubjectReader.
func (s *MonitorStore) Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	m, err := s.db.readMonitor(ctx, s.db, id)
	return m, wrapError(ctx, "read "+string(id), err)
}

// streamSecretRow is the row for which the secret of a stream is encrypted: a monitor has its snapshot besides.
func streamSecretRow(id monitor.ID) string { return string(id) + "/stream" }

// sealStreamSecret encrypts the secret of a monitor's stream; nil: it has none. Errors: *monitor.Error InvalidConfig without
// a key.
func (db *database) sealStreamSecret(m monitor.Monitor) ([]byte, error) {
	if m.StreamSecret.IsZero() {
		return nil, nil
	}
	text, err := json.Marshal(m.StreamSecret)
	if err != nil {
		return nil, fmt.Errorf("the secret of the stream of %s: %w", m.ID, err)
	}
	sealed, err := db.secrets.Seal(text, streamSecretRow(m.ID))
	if errors.Is(err, errNoSecretsKey) {
		return nil, monitor.Errorf(monitor.InvalidConfig,
			"the query of stream_url, config.http_headers and config.token_url cannot be stored, because they are encrypted and this gateway has no SECRETS_KEY: set it, or register the stream without them")
	}
	return sealed, err
}

// openStreamSecret decrypts the secret of a monitor's stream. Errors: no key opens it.
func (db *database) openStreamSecret(id monitor.ID, sealed []byte) (secret monitor.StreamSecret, err error) {
	text, _, err := db.secrets.Open(sealed, streamSecretRow(id))
	if err == nil {
		err = json.Unmarshal(text, &secret)
	}
	return secret, err
}

// readMonitor reads a monitor with its snapshot. One that no key opens any more is left out: the next worker
// begins without it, which is better than none.
func (db *database) readMonitor(ctx context.Context, q sqlx.QueryerContext, id monitor.ID) (monitor.Monitor, error) {
	var row monitorRow
	err := sqlx.GetContext(ctx, q, &row, selectMonitor+` WHERE m.id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return monitor.Monitor{}, monitorNotFound(id)
	}
	if err != nil {
		return monitor.Monitor{}, err
	}
	m, err := row.toMonitor()
	if err != nil {
		return m, err
	}
	if err := db.routing.markUntold(ctx, q, &m); err != nil {
		return m, err
	}
	if len(row.StreamSecret) > 0 {
		if m.StreamSecret, err = db.openStreamSecret(m.ID, row.StreamSecret); err != nil {
			m.SecretLost = true
			db.log.Error("the secret of a stream cannot be decrypted, its worker gets no assignment: add its key to SECRETS_KEY", "monitor_id", row.ID, "error", err)
		}
	}
	if len(row.Snapshot) == 0 {
		return m, nil
	}
	if m.Snapshot, _, err = db.secrets.Open(row.Snapshot, row.ID); err != nil {
		db.log.Error("the snapshot of a worker cannot be decrypted, the next worker starts without it: add its key to SECRETS_KEY", "monitor_id", row.ID, "error", err)
		m.Snapshot = nil
	}
	return m, nil
}

// End implements monitors.SettingsStore.
func (s *MonitorStore) End(ctx context.Context, id monitor.ID, to monitor.Status, reason string, last *event.Event, at time.Time) (monitor.Monitor, error) {
	if to.Active() {
		return monitor.Monitor{}, fmt.Errorf("end %s: %s is not a final status", id, to)
	}
	var ended monitor.Monitor
	err := s.db.inTx(ctx, "end "+string(id), func(tx *sqlx.Tx) error {
		locked, err := lockMonitor(ctx, tx, id)
		if err != nil {
			return err
		}
		if !locked.status.Active() {
			ended, err = s.db.readMonitor(ctx, tx, id)
			return err
		}
		if err := endMonitor(ctx, tx, id, to, reason, at); err != nil {
			return err
		}
		f := found{monitor: locked, changed: true, ended: &incident.MonitorEnded{At: at, Failed: to == monitor.Failed}}
		if last != nil {
			f.events = []event.Event{*last}
		}
		if err := s.db.recordOrPark(ctx, tx, f); err != nil {
			return err
		}
		ended, err = s.db.readMonitor(ctx, tx, id)
		return err
	})
	return ended, err
}

// RemoveOwner implements monitors.SettingsStore.
func (s *MonitorStore) RemoveOwner(ctx context.Context, id monitor.ID) error {
	_, err := s.db.ExecContext(ctx, `UPDATE monitors SET owner = '' WHERE id = $1`, id)
	return wrapError(ctx, "remove the owner of "+string(id), err)
}
