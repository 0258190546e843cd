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

// How long to wait while another process migrates: once a second, five
// minutes at most.
const (
	lockPollSec  = 1
	lockAttempts = 300
)

// Migrate brings the schema up to date and blocks until it is. It is
// idempotent, and several processes may call it at once: an advisory lock lets
// one of them work while the others wait. Without that lock all but one fail.
func Migrate(ctx context.Context, db *sql.DB) error {
	locker, err := lock.NewPostgresSessionLocker(
		lock.WithLockTimeout(lockPollSec, lockAttempts),
		lock.WithUnlockTimeout(lockPollSec, lockAttempts),
	)
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	// The provider is not closed: that would close db, which is the caller's.
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
