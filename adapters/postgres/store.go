package postgres

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/migrations"
)

var (
	_ registry.Registry = (*Store)(nil)
	_ registry.Desk     = (*Store)(nil)
	_ registry.History  = (*Store)(nil)
	_ registry.Limiter  = (*Store)(nil)
	_ delivery.Outbox   = (*Store)(nil)
	_ supervisor.Store  = (*Store)(nil)
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

// Open is New and Ping: it connects to the database and blocks until it has
// answered once.
func Open(ctx context.Context, dsn string, cfg Config) (*Store, error) {
	s, err := New(dsn, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// New makes a store of a database that need not be there yet: connections are
// made when they are needed. dsn is a URL (postgres://…) or key=value words;
// what it leaves out is taken from the PG* variables, as with psql. When neither
// names an sslmode it is disable for a unix socket and for the loopback, and
// require for anything else. The schema is brought up to date by Migrate.
// Errors: dsn cannot be read; a value of cfg is out of its range.
func New(dsn string, cfg Config) (*Store, error) {
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
	return &Store{
		db: db, dsn: dsn, zone: cfg.Zone, log: cfg.Log.With("component", "store"),
		office: newOffice(connector), ears: ears{beat, silence},
	}, nil
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

// Refused tells whether an error of Ping or Migrate is the server's last word,
// which no waiting changes: it does not let this user in, has no such database,
// speaks no TLS where that is required or has not the right certificate, or
// cannot have this schema. All else may pass.
func Refused(err error) bool {
	var certificate *tls.CertificateVerificationError
	if errors.Is(err, pq.ErrSSLNotSupported) || errors.As(err, &certificate) {
		return true
	}
	said := pq.As(err)
	if said == nil {
		return false
	}
	switch said.Code.Class() {
	case pqerror.ClassInvalidAuthorizationSpecification, pqerror.ClassInvalidCatalogName,
		pqerror.ClassSyntaxErrorOrAccessRuleViolation, pqerror.ClassFeatureNotSupported:
		return true
	}
	return false
}
