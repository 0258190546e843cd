package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/domain/access"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const keyColumns = `id, name, role, digest, created_by, created_at, expires_at, revoked_at, last_used_at`

type keyRow struct {
	ID         string       `db:"id"`
	Name       string       `db:"name"`
	Role       access.Role  `db:"role"`
	Digest     []byte       `db:"digest"`
	CreatedBy  string       `db:"created_by"`
	CreatedAt  time.Time    `db:"created_at"`
	ExpiresAt  sql.NullTime `db:"expires_at"`
	RevokedAt  sql.NullTime `db:"revoked_at"`
	LastUsedAt sql.NullTime `db:"last_used_at"`
}

func (r keyRow) stored() keyring.StoredKey {
	stored := keyring.StoredKey{Key: access.Key{
		ID: r.ID, Name: r.Name, Role: r.Role, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt.UTC(),
		ExpiresAt: timeOrZero(r.ExpiresAt), RevokedAt: timeOrZero(r.RevokedAt), LastUsedAt: timeOrZero(r.LastUsedAt),
	}}
	copy(stored.Digest[:], r.Digest)
	return stored
}

// KeyStore keeps the API keys of people and programs (section 12.4).
type KeyStore struct{ db *database }

// Keys implements keyring.Store.
func (s *KeyStore) Keys(ctx context.Context) ([]keyring.StoredKey, error) {
	var rows []keyRow
	if err := s.db.SelectContext(ctx, &rows, `
		(SELECT `+keyColumns+` FROM api_keys WHERE revoked_at IS NULL)
		UNION ALL
		(SELECT `+keyColumns+` FROM api_keys WHERE revoked_at IS NOT NULL ORDER BY id DESC LIMIT $1)
		ORDER BY id DESC`, keyring.MaxRevoked); err != nil {
		return nil, wrapError(ctx, "list keys", err)
	}
	keys := make([]keyring.StoredKey, 0, len(rows))
	for _, r := range rows {
		keys = append(keys, r.stored())
	}
	return keys, nil
}

// CreateKey implements keyring.Store.
func (s *KeyStore) CreateKey(ctx context.Context, key keyring.StoredKey) error {
	return s.db.inTx(ctx, "create key "+key.ID, func(tx *sqlx.Tx) error {
		// Without the lock, two that create keys at once could exceed the maximum.
		if _, err := tx.ExecContext(ctx, `LOCK TABLE api_keys IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO api_keys (id, name, role, digest, created_by, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (id) DO NOTHING`,
			key.ID, key.Name, key.Role, key.Digest[:], key.CreatedBy, key.CreatedAt, nullTime(key.ExpiresAt))
		if pq.As(err, pqerror.UniqueViolation) != nil {
			return monitor.NameTakenf("another key has the name %q", key.Name)
		}
		if err != nil {
			return err
		}
		return requireRoom(ctx, tx, `SELECT count(*) FROM api_keys WHERE revoked_at IS NULL`, keyring.MaxKeys, "keys")
	})
}

// RevokeKey implements keyring.Store.
func (s *KeyStore) RevokeKey(ctx context.Context, id string, at time.Time) (access.Key, error) {
	var row keyRow
	err := s.db.GetContext(ctx, &row, `
		UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2)`+whereID+` RETURNING `+keyColumns, strings.ToLower(id), at)
	if errors.Is(err, sql.ErrNoRows) {
		err = monitor.Errorf(keyring.KeyNotFound, "no key has the id %.60q", id)
	}
	return row.stored().Key, wrapError(ctx, "revoke key "+id, err)
}

// MarkKeyUsed implements keyring.Store.
func (s *KeyStore) MarkKeyUsed(ctx context.Context, id string, at time.Time) error {
	_, err := s.db.ExecContext(ctx, `
		UPDATE api_keys SET last_used_at = GREATEST(last_used_at, $2)`+whereID, id, at.UTC())
	return wrapError(ctx, "note the use of key "+id, err)
}

// AuditStore keeps the audit list (section 12.4).
type AuditStore struct{ db *database }

// BeginEntry implements keyring.AuditStore.
func (s *AuditStore) BeginEntry(ctx context.Context, e keyring.Entry) (seq int64, err error) {
	err = s.db.GetContext(ctx, &seq, `
		INSERT INTO audit_entries (key_id, key_name, action, objects, client) VALUES (CAST(NULLIF($1, '') AS uuid), $2, $3, $4, $5) RETURNING id`,
		e.KeyID, e.KeyName, e.Action, textArray(e.Objects), e.Client)
	return seq, wrapError(ctx, "record "+e.Action, err)
}

// textArray returns an array that is not NULL.
func textArray(texts []string) any { return pq.Array(append([]string{}, texts...)) }

// FinishEntry implements keyring.AuditStore.
func (s *AuditStore) FinishEntry(ctx context.Context, seq int64, objects []string, status int) (err error) {
	if status == 0 {
		_, err = s.db.ExecContext(ctx, `DELETE FROM audit_entries WHERE id = $1`, seq)
	} else {
		_, err = s.db.ExecContext(ctx, `UPDATE audit_entries SET objects = $2, status = $3 WHERE id = $1`, seq, textArray(objects), status)
	}
	return wrapError(ctx, fmt.Sprintf("record the result of entry %d", seq), err)
}

// Entries implements keyring.AuditStore.
func (s *AuditStore) Entries(ctx context.Context, before int64, limit int) ([]keyring.Entry, error) {
	var rows []struct {
		ID      int64          `db:"id"`
		At      time.Time      `db:"at"`
		KeyID   sql.NullString `db:"key_id"`
		KeyName string         `db:"key_name"`
		Action  string         `db:"action"`
		Objects pq.StringArray `db:"objects"`
		Client  string         `db:"client"`
		Status  sql.NullInt64  `db:"status"`
	}
	if err := s.db.SelectContext(ctx, &rows, `
		SELECT id, at, key_id, key_name, action, objects, client, status FROM audit_entries
		WHERE $1 = 0 OR id < $1 ORDER BY id DESC LIMIT $2`, before, limit); err != nil {
		return nil, wrapError(ctx, "list the audit entries", err)
	}
	entries := make([]keyring.Entry, 0, len(rows))
	for _, r := range rows {
		entries = append(entries, keyring.Entry{
			Seq: r.ID, At: r.At.UTC(), KeyID: r.KeyID.String, KeyName: r.KeyName, Action: r.Action, Objects: r.Objects, Client: r.Client, Status: int(r.Status.Int64),
		})
	}
	return entries, nil
}

// DeleteEntries implements keyring.AuditStore.
func (s *AuditStore) DeleteEntries(ctx context.Context, age time.Duration, limit int) (int, error) {
	result, err := s.db.ExecContext(ctx, `
		DELETE FROM audit_entries WHERE id = ANY (ARRAY(
			SELECT id FROM audit_entries WHERE at < now() - make_interval(secs => $1) ORDER BY at LIMIT $2))`, age.Seconds(), limit)
	if err != nil {
		return 0, wrapError(ctx, "delete old audit entries", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}
