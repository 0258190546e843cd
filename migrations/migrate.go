package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// FS holds the migrations.
//
//go:embed *.sql
var FS embed.FS

// The lock is tried once a second, for 5 min at most, while another process migrates.
const (
	lockPollSec  = 1
	lockAttempts = 300
)

// Migrate applies the missing migrations and blocks until that is done. It is
// idempotent. Several processes may call it at once: they take turns by an advisory
// lock, without which all but one would fail.
func Migrate(ctx context.Context, db *sql.DB) error {
	locker, err := lock.NewPostgresSessionLocker(
		lock.WithLockTimeout(lockPollSec, lockAttempts),
		lock.WithUnlockTimeout(lockPollSec, lockAttempts),
	)
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	// Closing the provider would close db, which belongs to the caller.
	provider, err := goose.NewProvider(goose.DialectPostgres, db, FS,
		goose.WithSessionLocker(locker),
		goose.WithDisableGlobalRegistry(true),
	)
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}
