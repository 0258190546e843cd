package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// SettingsStore changes what callers have registered.
type SettingsStore struct{ db *database }

// UpdateSettings implements monitors.SettingsStore. After an attempt with an unknown
// outcome it returns ErrRevisionConflict if that attempt was stored; the caller then finds
// nothing left to change. The promotion moves only while no gateway has ever launched a
// worker (the column place): a monitor that a stopping gateway released must resume now.
func (s *SettingsStore) UpdateSettings(ctx context.Context, m monitor.Monitor, promoteAt time.Time) (monitor.Monitor, error) {
	config, err := json.Marshal(m.Config)
	if err != nil {
		return monitor.Monitor{}, fmt.Errorf("config of %s: %w", m.ID, err)
	}
	secret, err := s.db.sealStreamSecret(m)
	if err != nil {
		return monitor.Monitor{}, err
	}
	var updated monitor.Monitor
	err = s.db.inTx(ctx, "change "+string(m.ID), func(tx *sqlx.Tx) error {
		locked, err := lockMonitor(ctx, tx, m.ID)
		switch {
		case err != nil:
			return err
		case !locked.status.Active():
			return monitor.EndedAlready(m.ID, locked.status)
		case locked.revision != m.Revision:
			return fmt.Errorf("%s has revision %d, not %d: %w", m.ID, locked.revision, m.Revision, monitors.ErrRevisionConflict)
		}
		if !locked.paused && m.Pause.Until.Equal(locked.pausedUntil) {
			m.Pause = monitor.Pause{} // it has ended since it was read
		}
		_, err = tx.ExecContext(ctx, `
			UPDATE monitors SET
				config         = $2,
				callback_url   = $3,
				metadata       = CAST($4 AS jsonb),
				metadata_text  = $5,
				labels         = CAST($9 AS jsonb),
				owner          = $10,
				paused_since   = CASE WHEN CAST($11 AS timestamptz) IS NULL OR paused_until > now() THEN paused_since ELSE now() END,
				paused_until   = COALESCE(CAST($11 AS timestamptz), CASE WHEN paused_until > now() THEN now() ELSE paused_until END),
				paused_by      = $12,
				stream_secret  = CASE WHEN $7 THEN stream_secret ELSE $8 END,
				revision       = revision + 1,
				reserved_until = CASE WHEN reserved_until IS NOT NULL AND place = '' AND status = 'waiting'
				                      THEN COALESCE($6, reserved_until) ELSE reserved_until END,
				updated_at     = now()
			WHERE id = $1`,
			m.ID, string(config), m.CallbackURL, nullText(m.Metadata), nullText(m.Metadata), nullTime(promoteAt), m.SecretLost, secret, labels(m.Labels), m.Owner,
			nullTime(m.Pause.Until), m.Pause.By)
		if err != nil {
			return metadataError(err)
		}
		if begins := !m.Pause.Until.IsZero(); begins != locked.paused || begins && !m.Pause.Until.Equal(locked.pausedUntil) {
			if err := s.db.pause(ctx, tx, locked, m); err != nil {
				return err
			}
		}
		if m.CallbackURL == "" && !locked.noCallback {
			// Deliveries that wait for the callback have lost their receiver.
			if _, err := tx.ExecContext(ctx, `
				WITH given_up AS (DELETE FROM deliveries WHERE monitor_id = $1 AND destination_id IS NULL AND state = 'pending' RETURNING id)
				UPDATE monitor_events SET webhook_status = 'none' WHERE id IN (SELECT id FROM given_up)`, m.ID); err != nil {
				return err
			}
		}
		if updated, err = s.db.readMonitor(ctx, tx, m.ID); err != nil {
			return err
		}
		return addToFeed(ctx, tx, monitorChange(m.ID))
	})
	return updated, err
}

// pause records the begin or the end of a pause of a locked monitor: its worker reports it later, if it has one.
func (db *database) pause(ctx context.Context, tx *sqlx.Tx, locked lockedMonitor, m monitor.Monitor) error {
	var now time.Time
	if err := tx.GetContext(ctx, &now, `SELECT clock_timestamp()`); err != nil {
		return err
	}
	report := m.PauseReport(now)
	f := found{monitor: locked, report: &report, applied: true, byGateway: true}
	if report.Paused {
		f.paused = &incident.Paused{By: m.Pause.By}
	}
	return db.recordOrPark(ctx, tx, f)
}

// addRevision makes a new revision of monitors that the transaction has locked, by which their workers learn of a change
// outside their configuration.
func addRevision(ctx context.Context, tx *sqlx.Tx, ids []monitor.ID) error {
	if _, err := tx.ExecContext(ctx, `UPDATE monitors SET revision = revision + 1, updated_at = now() WHERE id = ANY ($1)`, pq.Array(ids)); err != nil {
		return err
	}
	changes := make([]feedChange, 0, len(ids))
	for _, id := range ids {
		changes = append(changes, monitorChange(id))
	}
	return addToFeed(ctx, tx, changes...)
}
