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

// active is the predicate of idx_monitors_stream_url_active, so that the index
// answers how many are active and whether a stream is among them.
const active = `status IN ('initializing', 'waiting', 'monitoring')`

// lockRegistration lets one registration at a time look and insert, across
// gateways. 21325 is "SM": the name space of our advisory locks.
const lockRegistration = `SELECT pg_advisory_xact_lock(21325, 1)`

// Insert implements control.Registry. A monitor that is stored already, by an
// attempt whose outcome was unknown, is no error.
func (s *Store) Insert(ctx context.Context, m monitor.Monitor, limit int) error {
	return s.inTx(ctx, "register "+string(m.ID), func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, lockRegistration); err != nil {
			return err
		}
		return register(ctx, tx, m, limit)
	})
}

// register stores a monitor if it may be admitted. It runs under
// lockRegistration.
func register(ctx context.Context, tx *sqlx.Tx, m monitor.Monitor, limit int) error {
	config, err := json.Marshal(m.Config)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if err := admit(ctx, tx, m, limit); err != nil {
		return err
	}
	others, err := otherCounts(m.Statistics)
	if err != nil {
		return err
	}
	until, hold := reservation(m)
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
		nullText(m.Snapshot), m.ID.WorkerName(), m.CreatedAt.UTC(), m.UpdatedAt.UTC(), nullTime(m.EndedAt), until, hold,
		m.Statistics.TotalSegmentsAnalyzed, m.Statistics.Alerts(detector.Blackout), m.Statistics.Alerts(detector.Silence), nullTime(m.Health.LastCheckAt), others)
	if why, bad := unstorable(err); bad {
		return monitor.Errorf(monitor.InvalidConfig, "metadata cannot be stored: %s; accepted is a JSON object of valid Unicode text without \\u0000", why)
	}
	return err
}

// reservation is when a new monitor's ends: at a time of day, or so many seconds
// after it is stored, by the clock of the database, which tells when it is due.
// NULL both: it is none.
func reservation(m monitor.Monitor) (until sql.NullTime, hold sql.NullFloat64) {
	if held := m.Held(); held > 0 {
		return until, sql.NullFloat64{Float64: held.Seconds(), Valid: true}
	}
	return nullTime(m.ReservedUntil), hold
}

// admit applies the duplicate rule and the maximum (decision A5). It runs
// under lockRegistration, and in a statement of its own, which therefore sees
// everything that was stored before the lock was got.
func admit(ctx context.Context, tx *sqlx.Tx, m monitor.Monitor, limit int) error {
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

// Get implements control.Registry.
func (s *Store) Get(ctx context.Context, id monitor.ID) (monitor.Monitor, error) {
	m, err := read(ctx, s.db, id)
	return m, explain(ctx, "read "+string(id), err)
}

func read(ctx context.Context, q sqlx.QueryerContext, id monitor.ID) (monitor.Monitor, error) {
	var row monitorRow
	err := sqlx.GetContext(ctx, q, &row, selectMonitor+` WHERE m.id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return monitor.Monitor{}, unknown(id)
	}
	if err != nil {
		return monitor.Monitor{}, err
	}
	return row.monitor()
}

func unknown(id monitor.ID) error {
	return monitor.Errorf(monitor.NotFound, "no monitor has the id %.60q", id)
}

// List implements control.Registry.
func (s *Store) List(ctx context.Context, status monitor.Status, limit, offset int) ([]monitor.Monitor, int, error) {
	page, total, err := s.list(ctx, status, limit, offset)
	return page, total, explain(ctx, "list monitors", err)
}

func (s *Store) list(ctx context.Context, status monitor.Status, limit, offset int) ([]monitor.Monitor, int, error) {
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
	page, err := monitors(rows)
	return page, total, err
}

// End implements control.Registry and supervisor.Store.
func (s *Store) End(ctx context.Context, id monitor.ID, to monitor.Status, reason string, last *event.Event, at time.Time) (monitor.Monitor, error) {
	if to.Active() {
		return monitor.Monitor{}, fmt.Errorf("end %s: %s is not an end", id, to)
	}
	var after monitor.Monitor
	err := s.inTx(ctx, "end "+string(id), func(tx *sqlx.Tx) error {
		held, err := hold(ctx, tx, id)
		if err != nil {
			return err
		}
		if held.status.Active() {
			if err := end(ctx, tx, id, to, reason, at); err != nil {
				return err
			}
			if last != nil {
				if err := s.enqueue(ctx, tx, held, []event.Event{*last}); err != nil {
					return err
				}
			}
		}
		after, err = read(ctx, tx, id)
		return err
	})
	return after, err
}

// end writes an end; the caller holds the monitor and has found it active. A
// reservation is one no more.
func end(ctx context.Context, tx *sqlx.Tx, id monitor.ID, to monitor.Status, reason string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `
		UPDATE monitors SET status = $2, reason = $3, ended_at = $4, reserved_until = NULL, updated_at = now() WHERE id = $1`,
		id, to, reason, at.UTC())
	return err
}
