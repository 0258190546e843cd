package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"sync"
	"time"

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

// Config configures Migrate; the zero value is usable.
type Config struct {
	Files            fs.FS         // default: FS
	Log              *slog.Logger  // default: nothing is logged
	ProgressInterval time.Duration // between the lines about a migration that lasts, default 10 s
}

// Migrate applies the missing migrations and blocks until that is done. It is
// idempotent. Several processes may call it at once: they take turns by an advisory
// lock, without which all but one would fail. They try for the lock instead of waiting in it:
// CREATE INDEX CONCURRENTLY would wait for them. db needs two connections. If a migration
// fails, those before it stay applied.
func Migrate(ctx context.Context, db *sql.DB, cfg Config) error {
	if cfg.Files == nil {
		cfg.Files = FS
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.ProgressInterval == 0 {
		cfg.ProgressInterval = 10 * time.Second
	}
	locker, err := lock.NewPostgresSessionLocker(
		lock.WithLockTimeout(lockPollSec, lockAttempts),
		lock.WithUnlockTimeout(lockPollSec, lockAttempts),
	)
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	// Closing the provider would close db, which belongs to the caller.
	provider, err := goose.NewProvider(goose.DialectPostgres, db, cfg.Files,
		goose.WithSessionLocker(locker),
		goose.WithDisableGlobalRegistry(true),
	)
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	progress := progress{db: db, sources: provider.ListSources(), log: cfg.Log}
	stop := progress.logEvery(ctx, cfg.ProgressInterval)
	applied, err := provider.Up(ctx)
	stop()
	if partial, is := errors.AsType[*goose.PartialError](err); is {
		applied = partial.Applied
	}
	if len(applied) > 0 {
		cfg.Log.Info("the database was migrated", "applied", len(applied), "last", path.Base(applied[len(applied)-1].Source.Path))
	}
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// progress logs which migration lasts. It reads the database, so it also shows what another
// process applies.
type progress struct {
	db      *sql.DB
	sources []*goose.Source // ascending
	log     *slog.Logger

	current int64     // the version that was applied next at the last look; 0: none
	since   time.Time // of the first look at which it was
}

// logEvery looks at once and then at every interval, until stop is called. stop waits for its
// end.
func (p *progress) logEvery(ctx context.Context, interval time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			p.look(ctx)
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); running.Wait() }
}

// look logs the migration that is being applied, if it was at the last look, too.
func (p *progress) look(ctx context.Context) {
	var applied sql.NullInt64
	if err := p.db.QueryRowContext(ctx, `SELECT max(version_id) FROM goose_db_version WHERE is_applied`).Scan(&applied); err != nil {
		return // the table does not exist yet
	}
	for _, source := range p.sources {
		switch {
		case source.Version <= applied.Int64:
			continue
		case source.Version != p.current:
			p.current, p.since = source.Version, time.Now()
		default:
			p.log.Info("a migration of the database goes on", "migration", path.Base(source.Path),
				"since", p.since.Format(time.RFC3339), "for_sec", int(time.Since(p.since).Seconds()))
		}
		return
	}
}
