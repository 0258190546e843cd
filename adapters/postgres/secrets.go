package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jmoiron/sqlx"
)

// Secrets encrypts what nobody may read in the database. secretbox.Box implements it.
type Secrets interface {
	// Seal encrypts text for the row with the given id.
	Seal(text []byte, rowID string) ([]byte, error)

	// Open decrypts what Seal made for the same row. current is false if another key than
	// the one of Seal opened it. Errors name the setting that lacks the key.
	Open(sealed []byte, rowID string) (text []byte, current bool, err error)
}

// noSecrets stands for a SECRETS_KEY that is not configured.
type noSecrets struct{}

var errNoSecretsKey = errors.New("SECRETS_KEY is not configured")

// Seal implements Secrets.
func (noSecrets) Seal([]byte, string) ([]byte, error) { return nil, errNoSecretsKey }

// Open implements Secrets.
func (noSecrets) Open([]byte, string) ([]byte, bool, error) { return nil, false, errNoSecretsKey }

// sealedRow is a row with something encrypted.
type sealedRow struct {
	ID     string `db:"id"`
	Name   string `db:"name"`
	Sealed []byte `db:"sealed"`
}

// sealedTables says how the encrypted part of each table is read and replaced, and what is logged of one that no key opens.
var sealedTables = []struct {
	query, update string
	logLost       func(log *slog.Logger, r sealedRow, problem string)
}{
	{
		`SELECT id, name, secrets AS sealed FROM destinations WHERE deleted_at IS NULL AND secrets IS NOT NULL ORDER BY id FOR NO KEY UPDATE`,
		`UPDATE destinations SET secrets = $2 WHERE id = $1`, logLostSecrets,
	},
	{
		`SELECT id || '/stream' AS id, stream_url AS name, stream_secret AS sealed FROM monitors WHERE stream_secret IS NOT NULL ORDER BY id FOR NO KEY UPDATE`,
		`UPDATE monitors SET stream_secret = $2 WHERE id || '/stream' = $1`, logLostStream,
	},
	{`SELECT id, name, sealed FROM cookie_jars ORDER BY id FOR NO KEY UPDATE`, `UPDATE cookie_jars SET sealed = $2 WHERE id = $1`, logLostJar},
	{`SELECT id, name, sealed FROM ingest_logins ORDER BY id FOR NO KEY UPDATE`, `UPDATE ingest_logins SET sealed = $2 WHERE id = $1`, logLostLogin},
}

func logLostSecrets(log *slog.Logger, r sealedRow, problem string) {
	log.Error("the secrets of a destination cannot be decrypted, nothing can be sent there: add its key to SECRETS_KEY, or enter the secrets again",
		"destination_id", r.ID, "name", r.Name, "error", problem)
}

func logLostJar(log *slog.Logger, r sealedRow, problem string) {
	log.Error("a cookie jar cannot be decrypted, its streams are watched without cookies: add its key to SECRETS_KEY, or upload the cookies again",
		"cookie_jar", r.Name, "error", problem)
}

func logLostStream(log *slog.Logger, r sealedRow, problem string) {
	log.Error("the secret of a stream cannot be decrypted, its worker gets no assignment: add its key to SECRETS_KEY",
		"monitor_id", strings.TrimSuffix(r.ID, "/stream"), "error", problem)
}

func logLostLogin(log *slog.Logger, r sealedRow, problem string) {
	log.Error("the login of an owner cannot be decrypted, what arrives from the encoders is not known: add its key to SECRETS_KEY, or upload the refresh token again",
		"ingest_login", r.Name, "error", problem)
}

// ResealSecrets encrypts the secrets of all destinations and streams, all cookie jars and all logins of owners, with the first key that another
// key has encrypted. It may be repeated, and run on several gateways at once. It logs each row whose secrets no key
// opens, then fails for good and changes nothing.
func (s *Store) ResealSecrets(ctx context.Context) error {
	return s.db.inTx(ctx, "encrypt secrets with the newest key", func(tx *sqlx.Tx) error {
		lost := 0
		for _, table := range sealedTables {
			var rows []sealedRow
			if err := tx.SelectContext(ctx, &rows, table.query); err != nil {
				return err
			}
			for _, r := range rows {
				text, current, err := s.secrets.Open(r.Sealed, r.ID)
				if err != nil {
					table.logLost(s.db.log, r, err.Error())
					lost++
					continue
				}
				if current {
					continue
				}
				sealed, err := s.secrets.Seal(text, r.ID)
				if err != nil {
					return err
				}
				if _, err := tx.ExecContext(ctx, table.update, r.ID, sealed); err != nil {
					return err
				}
			}
		}
		if lost > 0 {
			return fmt.Errorf("%d of them: %w", lost, ErrLostSecrets)
		}
		return nil
	})
}
