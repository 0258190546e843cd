package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// active is the predicate of idx_monitors_stream_url_active, so that the planner
// uses that index to count active monitors and to find one by its stream.
const active = `status IN ('initializing', 'waiting', 'monitoring')`

// registrationLock serialises registrations across gateways. 21325 ("SM") is the
// first key of all advisory locks of this program.
const registrationLock = `SELECT pg_advisory_xact_lock(21325, 1)`

// MonitorStore stores monitors.
type MonitorStore struct{ db *database }

// Insert implements registry.MonitorStore. Inserting a stored monitor again is no error:
// the first try may have had an unknown outcome.
func (s *MonitorStore) Insert(ctx context.Context, m monitor.Monitor, limit int) error {
	return s.db.inTx(ctx, "register "+string(m.ID), func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, registrationLock); err != nil {
			return err
		}
		return insertMonitor(ctx, tx, m, limit)
	})
}

// insertMonitor stores a monitor if checkAdmission allows it. The transaction holds
// registrationLock.
func insertMonitor(ctx context.Context, tx *sqlx.Tx, m monitor.Monitor, limit int) error {
	config, err := json.Marshal(m.Config)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if err := checkAdmission(ctx, tx, m, limit); err != nil {
		return err
	}
	others, err := otherCounts(m.Statistics)
	if err != nil {
		return err
	}
	until, holdSec := reservationEnd(m)
	_, err = tx.ExecContext(ctx, `
		WITH stored AS (
			INSERT INTO monitors (id, stream_url, callback_url, config, metadata, metadata_text,
			                      status, stream_status, health_video, health_audio, reason, generation,
			                      snapshot, pod_name, created_at, updated_at, ended_at, reserved_until)
			VALUES ($1, $2, $3, $4, CAST($5 AS jsonb), $6, $7,
			        COALESCE(NULLIF($8, ''), 'unknown'), COALESCE(NULLIF($9, ''), 'unknown'),
			        COALESCE(NULLIF($10, ''), 'unknown'), $11, $12, $13, $14, $15, $16, $17,
			        COALESCE(CAST($18 AS timestamptz), clock_timestamp() + make_interval(secs => $19)))
			ON CONFLICT (id) DO NOTHING
			RETURNING id)
		INSERT INTO monitor_stats (monitor_id, total_segments, blackout_events, silence_events, last_check_at, detector_events)
		SELECT id, $20, $21, $22, $23, CAST($24 AS jsonb) FROM stored`,
		m.ID, m.StreamURL, m.CallbackURL, string(config), nullText(m.Metadata), nullText(m.Metadata), m.Status,
		m.StreamStatus, m.Health.Video, m.Health.Audio, m.Reason, m.Generation,
		nullText(m.Snapshot), m.ID.WorkerName(), m.CreatedAt.UTC(), m.UpdatedAt.UTC(), nullTime(m.EndedAt), until, holdSec,
		m.Statistics.TotalSegmentsAnalyzed, m.Statistics.Alerts(detector.Blackout), m.Statistics.Alerts(detector.Silence), nullTime(m.Health.LastCheckAt), others)
	if message, ok := dataError(err); ok {
		return monitor.Errorf(monitor.InvalidConfig, "metadata cannot be stored: %s; accepted is a JSON object of valid Unicode text without \\u0000", message)
	}
	return err
}

// reservationEnd returns when the reservation of a new monitor ends: at a time, or a
// number of seconds after it is stored, by the database's clock. Both are NULL if
// it has no reservation.
func reservationEnd(m monitor.Monitor) (until sql.NullTime, holdSec sql.NullFloat64) {
	if held := m.Held(); held > 0 {
		return until, sql.NullFloat64{Float64: held.Seconds(), Valid: true}
	}
	return nullTime(m.ReservedUntil), holdSec
}

// checkAdmission applies the duplicate rule and the maximum (decision A5). The
// transaction holds registrationLock. The check is a statement of its own, so
// that its snapshot includes everything committed before the lock was taken.
func checkAdmission(ctx context.Context, tx *sqlx.Tx, m monitor.Monitor, limit int) error {
	var found struct {
		Active int            `db:"active"`
		Same   sql.NullString `db:"same"`
	}
	err := tx.GetContext(ctx, &found, `
		SELECT (SELECT count(*) FROM monitors WHERE `+active+`) AS active,
		       (SELECT id FROM monitors WHERE stream_url = $1 AND `+active+`) AS same`, m.StreamURL)
	switch {
	case err != nil:
		return err
	case found.Same.String == string(m.ID):
		return nil
	case found.Same.Valid:
		return monitor.Errorf(monitor.Duplicate, "%s is already being watched by %s; stop that monitor first", m.StreamURL, found.Same.String)
	case found.Active >= limit:
		return monitor.Errorf(monitor.MaxMonitorsExceeded, "%d monitors are active and %d is the maximum; stop one or wait until one has ended", found.Active, limit)
	}
	return nil
}

// Get implements registry.MonitorStore and supervisor.Store.
func (s *MonitorStore) Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	m, err := readMonitor(ctx, s.db, id)
	return m, wrapError(ctx, "read "+string(id), err)
}

func readMonitor(ctx context.Context, q sqlx.QueryerContext, id monitor.ID) (monitor.Monitor, error) {
	var row monitorRow
	err := sqlx.GetContext(ctx, q, &row, selectMonitor+` WHERE m.id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return monitor.Monitor{}, monitorNotFound(id)
	}
	if err != nil {
		return monitor.Monitor{}, err
	}
	return row.toMonitor()
}

// List implements registry.MonitorStore.
func (s *MonitorStore) List(ctx context.Context, status monitor.Status, limit, offset int) ([]monitor.Monitor, int, error) {
	page, total, err := s.list(ctx, status, limit, offset)
	return page, total, wrapError(ctx, "list monitors", err)
}

func (s *MonitorStore) list(ctx context.Context, status monitor.Status, limit, offset int) ([]monitor.Monitor, int, error) {
	where, args := "", []any{}
	if status != "" {
		where, args = ` WHERE status = $1`, append(args, status)
	}
	var total int
	if err := s.db.GetContext(ctx, &total, `SELECT count(*) FROM monitors`+where, args...); err != nil {
		return nil, 0, err
	}
	var rows []monitorRow
	query := fmt.Sprintf("%s%s ORDER BY m.seq DESC LIMIT %d OFFSET %d", selectMonitor, where, limit, offset)
	if err := s.db.SelectContext(ctx, &rows, query, args...); err != nil {
		return nil, 0, err
	}
	page, err := toMonitors(rows)
	return page, total, err
}

// End implements registry.MonitorStore.
func (s *MonitorStore) End(ctx context.Context, id monitor.ID, to monitor.Status, reason string, last *event.Event, at time.Time) (monitor.Monitor, error) {
	if to.Active() {
		return monitor.Monitor{}, fmt.Errorf("end %s: %s is not an end", id, to)
	}
	var after monitor.Monitor
	err := s.db.inTx(ctx, "end "+string(id), func(tx *sqlx.Tx) error {
		locked, err := lockMonitor(ctx, tx, id)
		if err != nil {
			return err
		}
		if locked.status.Active() {
			if err := endMonitor(ctx, tx, id, to, reason, at); err != nil {
				return err
			}
			if last != nil {
				if err := s.db.enqueue(ctx, tx, locked, []event.Event{*last}); err != nil {
					return err
				}
			}
		}
		after, err = readMonitor(ctx, tx, id)
		return err
	})
	return after, err
}
