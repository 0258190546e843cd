package postgres

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	feeds "github.com/stream-monitor/stream-monitor/application/feed"
	"github.com/stream-monitor/stream-monitor/application/hints"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/application/intake"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/opinions"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/migrations"
)

var (
	_ monitors.Store     = (*Store)(nil)
	_ intake.ReportStore = (*Store)(nil)
	_ histories.Store    = (*Store)(nil)
	_ delivery.Outbox    = (*Outbox)(nil)
	_ supervisor.Store   = (*Store)(nil)

	_ histories.ExpiryStore        = (*Store)(nil)
	_ hints.Store                  = (*Store)(nil)
	_ evidences.Store              = (*Store)(nil)
	_ evidences.SweepStore         = (*Store)(nil)
	_ incidents.Store              = (*Store)(nil)
	_ histories.MonitorExpiryStore = (*Store)(nil)
	_ feeds.Store                  = (*Store)(nil)
	_ evidences.ThumbnailStore     = (*Store)(nil)
	_ references.Store             = (*Store)(nil)
	_ cookiejars.Store             = (*Store)(nil)
	_ ingests.LoginStore           = (*Store)(nil)
	_ ingests.Store                = (*Store)(nil)

	_ routing.Store         = (*Store)(nil)
	_ routing.SubjectReader = (*Store)(nil)
	_ opinions.Store        = (*Store)(nil)

	_ keyring.Store      = (*Store)(nil)
	_ keyring.AuditStore = (*Store)(nil)

	_ keyring.SessionKeyStore = (*Store)(nil)

	_ pushes.Store            = (*Store)(nil)
	_ channels.Store          = (*Store)(nil)
	_ channels.DiscoveryStore = (*Store)(nil)
)

// Config configures a Store; the zero value is usable.
type Config struct {
	Zone             *time.Location // of the times in webhook payloads (decision A11); default UTC
	Log              *slog.Logger   // default: nothing is logged
	MaxConnections   int            // 1 or more, default 16; Listen, ListenFeed, TryLead and Heartbeat use one more each
	StatementTimeout time.Duration  // default 5 s; a statement_timeout in the DSN takes precedence
	ConnectTimeout   time.Duration  // whole seconds, default 5 s; a connect_timeout in the DSN takes precedence
	ReportDelay      time.Duration  // how long a report without events may wait for others to share its transaction; default 0
	Secrets          Secrets        // default: secrets of destinations and streams can be neither stored nor read, and no snapshot is kept

	Opinions notify.OpinionPower // of second opinions over messages; default: none
}

// proveWriting changes nothing, and is refused where nothing can be changed.
const proveWriting = `DELETE FROM gateways WHERE false`

const (
	maxIdleTime         = 5 * time.Minute  // how long an unused connection is kept
	maxLifetime         = 10 * time.Minute // how long a connection is used: the next one may lead to another server
	lockRetryPause      = 2 * time.Second  // between two tries of a migration to get its lock; others work meanwhile
	lockWarningInterval = time.Minute      // between warnings that it does not get it
)

// Store implements the application's ports on one database, and the Listener that wakes
// the dispatcher. Its methods may be called concurrently.
type Store struct {
	*MonitorStore
	*IdempotencyStore
	*ReportStore
	*EventStore
	*SettingsStore
	*HistoryStore
	*HintStore
	*RateLimitStore
	*SupervisorStore
	*ReservationStore
	*LeaderElection
	*MembershipStore
	*Outbox
	*EvidenceStore
	*IncidentStore
	*OpinionStore
	*OfficialStore
	*ExpiryStore
	*Listener
	*FeedStore
	*ThumbnailStore
	*ReferenceStore
	*CookieJarStore
	*IngestStore
	*DestinationStore
	*RouteStore
	*SilenceStore
	*DutyStore
	*SubjectStore
	*KeyStore
	*AuditStore
	*SessionKeyStore
	*ChannelStore
	*EventSubStore

	db        *database
	secrets   Secrets
	migrating connector
}

// Open is New followed by Ping: it blocks until the database has answered once.
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

// New returns a store whose database need not be reachable yet: connections are
// made when they are needed. dsn is a URL (postgres://…) or key=value words; PG*
// variables supply what it omits, as for psql. If neither sets sslmode, New uses
// sslmode=disable for a unix socket and the loopback address, and sslmode=require for
// any other host. Call Migrate before the first use. Errors: dsn cannot be parsed; a
// value of cfg is out of its range.
func New(dsn string, cfg Config) (*Store, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	dsn, err = completeDSN(dsn, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	defaults := maps.Clone(sessionSettings)
	defaults["statement_timeout"] = strconv.FormatInt(cfg.StatementTimeout.Milliseconds(), 10)
	connector, err := newConnector(dsn, defaults, nil)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	migrating, err := newConnector(dsn, defaults, migrationSettings)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	heartbeats, err := newConnector(dsn, defaults, heartbeatSettings)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	pool := sqlx.NewDb(sql.OpenDB(connector), "postgres")
	pool.SetMaxOpenConns(cfg.MaxConnections)
	pool.SetMaxIdleConns(cfg.MaxConnections)
	pool.SetConnMaxIdleTime(maxIdleTime)
	pool.SetConnMaxLifetime(maxLifetime)
	log := cfg.Log.With("component", "store")
	db := &database{DB: pool, zone: cfg.Zone, log: log, routing: &routingCache{secrets: cfg.Secrets, log: log}, secrets: cfg.Secrets}
	return &Store{
		MonitorStore:     &MonitorStore{db},
		IdempotencyStore: &IdempotencyStore{db},
		ReportStore:      &ReportStore{db: db, delay: cfg.ReportDelay},
		EventStore:       &EventStore{db},
		SettingsStore:    &SettingsStore{db},
		HistoryStore:     &HistoryStore{db},
		HintStore:        &HintStore{db},
		RateLimitStore:   &RateLimitStore{db: db},
		SupervisorStore:  &SupervisorStore{db},
		ReservationStore: &ReservationStore{db},
		LeaderElection:   newLeaderElection(connector),
		MembershipStore:  newMembershipStore(heartbeats),
		Outbox:           &Outbox{db: db, opinions: cfg.Opinions},
		EvidenceStore:    &EvidenceStore{db},
		IncidentStore:    &IncidentStore{db},
		OpinionStore:     &OpinionStore{db},
		OfficialStore:    &OfficialStore{db},
		EventSubStore:    &EventSubStore{db},
		ExpiryStore:      &ExpiryStore{db},
		Listener:         &Listener{dsn, db.log, keepAliveInterval, keepAliveTimeout},
		FeedStore:        &FeedStore{db},
		ThumbnailStore:   &ThumbnailStore{db},
		ReferenceStore:   &ReferenceStore{db},
		CookieJarStore:   &CookieJarStore{db, cfg.Secrets},
		IngestStore:      &IngestStore{db, cfg.Secrets},
		DestinationStore: &DestinationStore{db, cfg.Secrets},
		RouteStore:       &RouteStore{db},
		SilenceStore:     &SilenceStore{db},
		DutyStore:        &DutyStore{db},
		SubjectStore:     &SubjectStore{db},
		KeyStore:         &KeyStore{db},
		AuditStore:       &AuditStore{db},
		SessionKeyStore:  &SessionKeyStore{db, cfg.Secrets},
		ChannelStore:     &ChannelStore{db},
		db:               db,
		secrets:          cfg.Secrets,
		migrating:        migrating,
	}, nil
}

func (c Config) complete() (Config, error) {
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Secrets == nil {
		c.Secrets = noSecrets{}
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = 16
	}
	if c.StatementTimeout == 0 {
		c.StatementTimeout = 5 * time.Second
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	if c.MaxConnections < 1 || c.StatementTimeout < 0 || c.ConnectTimeout < time.Second {
		return c, fmt.Errorf("config out of range: %d connections, statement timeout %v, connect timeout %v",
			c.MaxConnections, c.StatementTimeout, c.ConnectTimeout)
	}
	return c, nil
}

// Close resigns the leadership and closes all connections except that of Listen, which
// Listen closes when its context is done.
func (s *Store) Close() error {
	s.queue.close()
	s.successes.close()
	return errors.Join(s.endElection(), s.endHeartbeats(), s.db.Close())
}

// Ping checks that the database answers, and that a session is one of the server. Error: it
// does not, or a pooler shares the sessions of the server between transactions.
func (s *Store) Ping(ctx context.Context) error {
	return wrapError(ctx, "reach the database", s.ping(ctx))
}

func (s *Store) ping(ctx context.Context) error {
	var processes [2]int
	for i, pool := range []*sql.DB{s.db.DB.DB, s.MembershipStore.db} {
		conn, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // both are open at a time
		if err := conn.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&processes[i]); err != nil {
			return err
		}
	}
	if processes[0] == processes[1] {
		return ErrSharedSessions
	}
	return nil
}

// CheckWrites checks that the database takes changes: a standby, and a primary that was made
// read-only, answer everything else. It changes nothing.
func (s *Store) CheckWrites(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, proveWriting)
	return wrapError(ctx, "change the database", err)
}

// Migrate brings the schema up to date; see migrations.Migrate. It connects for itself,
// because its statements have no time limit. A migration that does not get a lock within
// 0.5 s is tried again, until ctx is done.
func (s *Store) Migrate(ctx context.Context) error {
	return s.migrate(ctx, migrations.Config{Log: s.db.log})
}

func (s *Store) migrate(ctx context.Context, cfg migrations.Config) error {
	var warned time.Time
	for {
		db := sql.OpenDB(s.migrating) // a migration may have changed the settings of its connection
		err := migrations.Migrate(ctx, db, cfg)
		err = errors.Join(err, db.Close())
		if pq.As(err, pqerror.LockNotAvailable) == nil {
			return wrapError(ctx, "prepare the database", err)
		}
		if time.Since(warned) >= lockWarningInterval {
			warned = time.Now()
			s.db.log.Warn("a migration of the database does not get its lock, will try again until it does; what holds the lock goes on", "error", err.Error())
		}
		if !wait.For(ctx, lockRetryPause) {
			return wrapError(ctx, "prepare the database", err)
		}
	}
}

// ErrLostSecrets says that the keys of this gateway do not decrypt what is stored (section 19.1).
var ErrLostSecrets = errors.New("SECRETS_KEY does not decrypt the stored secrets of destinations, streams, cookie jars or logins of owners: give the key of the gateway that stored them, " +
	"or put its keys.json into DATA_DIR; if the key is lost, UPDATE destinations SET secrets = NULL in the database for those that the log names, DELETE FROM cookie_jars or ingest_logins for those that it names, UPDATE monitors SET stream_secret = NULL for those that it names, and enter them again")

// ErrSharedSessions says that a pooler gives the sessions of the server to whoever has a
// transaction. Leaders, prepared statements and notifications need sessions of their own.
var ErrSharedSessions = errors.New("DB_DSN leads to a pooler in transaction or statement mode: set pool_mode=session for this database in PgBouncer, or let DB_DSN lead to PostgreSQL itself")

// IsPermanent reports whether a retry of Ping or Migrate cannot help, for one of these
// reasons: the server refuses the user; the database does not exist; the server offers
// no TLS although sslmode requires it; its certificate is invalid; it refuses a statement
// of a migration; a pooler shares the sessions; the keys of secrets are wrong (ErrLostSecrets).
func IsPermanent(err error) bool {
	if errors.Is(err, ErrLostSecrets) || errors.Is(err, ErrSharedSessions) {
		return true
	}
	var certificate *tls.CertificateVerificationError
	if errors.Is(err, pq.ErrSSLNotSupported) || errors.As(err, &certificate) {
		return true
	}
	answer := pq.As(err)
	if answer == nil {
		return false
	}
	switch answer.Code.Class() {
	case pqerror.ClassInvalidAuthorizationSpecification, pqerror.ClassInvalidCatalogName,
		pqerror.ClassSyntaxErrorOrAccessRuleViolation, pqerror.ClassFeatureNotSupported:
		return true
	}
	return false
}
