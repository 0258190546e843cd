package postgres

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/keyring"
)

// SessionKeyStore keeps the key of the dashboard's sessions (section 18.2), encrypted with SECRETS_KEY.
type SessionKeyStore struct {
	db      *database
	secrets Secrets
}

// sessionKeyRow is bound to the encrypted key in place of the row's id, which the insertion gives.
const sessionKeyRow = "session_keys"

// SessionKey implements keyring.SessionKeyStore. It encrypts the key again if an older key of
// SECRETS_KEY has encrypted it.
func (s *SessionKeyStore) SessionKey(ctx context.Context, offered keyring.SessionKey) (key keyring.SessionKey, err error) {
	err = s.db.inTx(ctx, "read the key of sessions", func(tx *sqlx.Tx) error {
		// Without the lock, gateways that start at once would each store a key.
		if _, err := tx.ExecContext(ctx, `LOCK TABLE session_keys IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		var rows []struct {
			ID     int64  `db:"id"`
			Sealed []byte `db:"sealed"`
		}
		if err := tx.SelectContext(ctx, &rows, `SELECT id, sealed FROM session_keys ORDER BY id`); err != nil {
			return err
		}
		for _, r := range rows {
			text, current, err := s.secrets.Open(r.Sealed, sessionKeyRow)
			if err != nil {
				continue // of gateways with another SECRETS_KEY
			}
			copy(key[:], text)
			if current {
				return nil
			}
			return s.store(ctx, tx, key, `UPDATE session_keys SET sealed = $1 WHERE id = $2`, r.ID)
		}
		key = offered
		return s.store(ctx, tx, key, `INSERT INTO session_keys (sealed) VALUES ($1)`)
	})
	return key, err
}

func (s *SessionKeyStore) store(ctx context.Context, tx *sqlx.Tx, key keyring.SessionKey, statement string, args ...any) error {
	sealed, err := s.secrets.Seal(key[:], sessionKeyRow)
	if err != nil {
		return fmt.Errorf("encrypt it: %w", err)
	}
	_, err = tx.ExecContext(ctx, statement, append([]any{sealed}, args...)...)
	return err
}
