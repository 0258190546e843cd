package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/application/control"
	"github.com/stream-monitor/stream-monitor/application/deliver"
	"github.com/stream-monitor/stream-monitor/application/supervise"
	"github.com/stream-monitor/stream-monitor/migrations"
)

var (
	_ control.Registry = (*Store)(nil)
	_ control.Desk     = (*Store)(nil)
	_ control.History  = (*Store)(nil)
	_ control.Limiter  = (*Store)(nil)
	_ deliver.Outbox   = (*Store)(nil)
	_ supervise.Roster = (*Store)(nil)
)

// Config is what may be set of a store. The zero value is good.
type Config struct {
	Zone             *time.Location // of the times in webhook payloads (decision A11); default UTC
	Log              *slog.Logger   // default: nothing is logged
	MaxConnections   int            // 1 or more, default 16; Listen and Lead take one each beyond them
	StatementTimeout time.Duration  // longest a statement may take, default 5 s; the DSN's own wins
	ConnectTimeout   time.Duration  // whole seconds, default 5 s; the DSN's own wins
}

// Idle connections are kept this long.
const maxIdleTime = 5 * time.Minute

// Store is the database. Its methods may be called concurrently.
type Store struct {
	db   *sqlx.DB
	dsn  string // with everything that Open has added
	zone *time.Location
	log  *slog.Logger

	office *office
	unsure tokens
	ears   ears
	forgot atomic.Pointer[time.Time] // when clients were last forgotten; nil: to be done
}

// Open connects to the database and blocks until it has answered once. dsn is
// a URL (postgres://…) or key=value words; what it leaves out is taken from the
// PG* variables, as with psql. When neither names an sslmode it is disable for
// a unix socket and for the loopback, and require for anything else. The schema
// is brought up to date by Migrate, not by Open.
func Open(ctx context.Context, dsn string, cfg Config) (*Store, error) {
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxConnections == 0 {
		cfg.MaxConnections = 16
	}
	if cfg.StatementTimeout == 0 {
		cfg.StatementTimeout = 5 * time.Second
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 5 * time.Second
	}
	if cfg.MaxConnections < 1 || cfg.StatementTimeout < 0 || cfg.ConnectTimeout < time.Second {
		return nil, fmt.Errorf("open the database: config out of range: %d connections, statement timeout %v, connect timeout %v",
			cfg.MaxConnections, cfg.StatementTimeout, cfg.ConnectTimeout)
	}
	dsn, err := complete(dsn, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	connector, err := newConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db := sqlx.NewDb(sql.OpenDB(connector), "postgres")
	db.SetMaxOpenConns(cfg.MaxConnections)
	db.SetMaxIdleConns(cfg.MaxConnections)
	db.SetConnMaxIdleTime(maxIdleTime)
	s := &Store{
		db: db, dsn: dsn, zone: cfg.Zone, log: cfg.Log.With("component", "store"),
		office: newOffice(connector), ears: ears{beat, silence},
	}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close gives up the office and ends all connections but that of Listen, which
// ends with its context.
func (s *Store) Close() error { return errors.Join(s.office.close(), s.db.Close()) }

// Ping asks the database for a sign of life. It blocks for one exchange.
func (s *Store) Ping(ctx context.Context) error {
	return explain(ctx, "reach the database", s.db.PingContext(ctx))
}

// Migrate brings the schema up to date; see migrations.Migrate.
func (s *Store) Migrate(ctx context.Context) error {
	return explain(ctx, "prepare the database", migrations.Migrate(ctx, s.db.DB))
}
