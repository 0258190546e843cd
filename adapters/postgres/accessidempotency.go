package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// IdempotencyStore registers monitors under an idempotency key (decision A9).
type IdempotencyStore struct{ db *database }

// InsertIdempotent implements monitors.RegistrationStore.
func (s *IdempotencyStore) InsertIdempotent(ctx context.Context, m monitor.Monitor, limit int, key monitors.IdempotencyKey) (*monitors.IdempotencyRecord, error) {
	var record *monitors.IdempotencyRecord
	err := s.db.inTx(ctx, "register "+string(m.ID), func(tx *sqlx.Tx) (err error) {
		if _, err := tx.ExecContext(ctx, registrationLock); err != nil {
			return err
		}
		// A separate statement after the lock sees the keys that other transactions
		// committed before this one took the lock.
		record, err = s.db.findKey(ctx, tx, key.Key)
		switch {
		case err != nil:
			return err
		case record == nil:
			stored, err := s.db.insertMonitor(ctx, tx, m, limit)
			if err != nil {
				return err
			}
			if err := storeKey(ctx, tx, m, key); err != nil || !stored {
				return err
			}
			return addToFeed(ctx, tx, monitorChange(m.ID))
		case record.Monitor.ID == m.ID: // an earlier try with an unknown outcome has stored it
			record = nil
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return record, nil
}

// FindIdempotent implements monitors.RegistrationStore.
func (s *IdempotencyStore) FindIdempotent(ctx context.Context, key monitors.Digest) (*monitors.IdempotencyRecord, error) {
	record, err := s.db.findKey(ctx, s.db, key)
	return record, wrapError(ctx, "find a registration by its idempotency key", err)
}

// findKey returns nil if the key is unknown or has expired.
func (db *database) findKey(ctx context.Context, q sqlx.QueryerContext, key monitors.Digest) (*monitors.IdempotencyRecord, error) {
	var row struct {
		Request   []byte         `db:"request"`
		MonitorID monitor.ID     `db:"monitor_id"`
		Status    monitor.Status `db:"status"`
	}
	err := sqlx.GetContext(ctx, q, &row, `
		SELECT request, monitor_id, status FROM idempotency_keys
		WHERE key = $1 AND created_at > now() - make_interval(secs => $2)`, key[:], monitors.IdempotencyRetention.Seconds())
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := db.readMonitor(ctx, q, row.MonitorID)
	if err != nil {
		return nil, err
	}
	m.Status = row.Status
	record := &monitors.IdempotencyRecord{Monitor: m}
	copy(record.Request[:], row.Request)
	return record, nil
}

// storeKey stores a key that is unknown or has expired. It also deletes up to 1000 other
// keys that have expired.
func storeKey(ctx context.Context, tx *sqlx.Tx, m monitor.Monitor, key monitors.IdempotencyKey) error {
	_, err := tx.ExecContext(ctx, `
		DELETE FROM idempotency_keys WHERE key = ANY (ARRAY(
			SELECT key FROM idempotency_keys
			WHERE created_at <= now() - make_interval(secs => $1)
			ORDER BY created_at LIMIT 1000))`, monitors.IdempotencyRetention.Seconds())
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO idempotency_keys (key, request, monitor_id, status) VALUES ($1, $2, $3, $4)
		ON CONFLICT (key) DO UPDATE
		SET request = excluded.request, monitor_id = excluded.monitor_id, status = excluded.status, created_at = excluded.created_at`,
		key.Key[:], key.Request[:], m.ID, m.Status)
	return err
}
