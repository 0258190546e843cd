package postgrestest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver "postgres"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
)

// Template is the name of the migrated database that the others are copies of.
const Template = "migrated"

// Config configures a Server; the zero value is usable.
type Config struct {
	Log *slog.Logger // of the server; default: nothing is logged
	Now time.Time    // at which the clock of each migrated database stands, until the row of its table clock is changed; zero: it runs
}

// Server is a PostgreSQL that all tests of a package share. Each test has a database of its own.
type Server struct {
	*embedded.Server

	now     time.Time // zero: the clocks run
	created atomic.Int64

	// idle and idleStores hold emptied databases for reuse: creating one takes longer than most tests.
	idle       chan string
	idleStores chan *Store

	emptying string // brings every table to the rows that the migrations gave it
}

// Main starts a server, hands it to use, runs the tests of a package, and returns the code to exit with.
func Main(m *testing.M, cfg Config, use func(*Server)) int {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store-test-")
	if err != nil {
		return broken(err)
	}
	defer os.RemoveAll(dir)
	server, err := embedded.Start(ctx, embedded.Config{DataDir: dir, Log: cfg.Log})
	if err != nil {
		return broken(err)
	}
	defer server.Stop(ctx)
	s := &Server{Server: server, now: cfg.Now, idle: make(chan string, 100), idleStores: make(chan *Store, 100)}
	if err := s.prepare(ctx); err != nil {
		return broken(err)
	}
	use(s)
	return m.Run()
}

func broken(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// prepare creates the database from which the others are copied. The server does not wait
// for the disk: tests that kill a server have one of their own.
func (s *Server) prepare(ctx context.Context) error {
	for _, statement := range []string{"ALTER ROLE ALL SET synchronous_commit = off", "CREATE DATABASE " + Template} {
		if err := Exec(ctx, s.DSN(), statement); err != nil {
			return err
		}
	}
	dsn := s.In(Template)
	if !s.now.IsZero() {
		if err := Exec(ctx, dsn, clock+`INSERT INTO clock VALUES ('`+s.now.Format(time.RFC3339Nano)+`')`); err != nil {
			return err
		}
	}
	store, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	s.emptying, err = statementsThatEmpty(ctx, dsn)
	return err
}

// clock creates functions that hide those of PostgreSQL with the same name, because In puts their schema first.
const clock = `
	CREATE TABLE clock (at TIMESTAMPTZ NOT NULL);
	CREATE FUNCTION now() RETURNS TIMESTAMPTZ LANGUAGE sql STABLE AS 'SELECT at FROM clock';
	CREATE FUNCTION clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql STABLE AS 'SELECT at FROM clock';`

// statementsThatEmpty returns the statements of emptying for every table of dsn, which it
// gives a copy of the rows that migrations insert.
func statementsThatEmpty(ctx context.Context, dsn string) (string, error) {
	db, err := sqlx.Open("postgres", dsn)
	if err != nil {
		return "", err
	}
	defer db.Close()
	var tables []string
	err = db.SelectContext(ctx, &tables, `SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version'`)
	if err != nil {
		return "", err
	}
	var statements strings.Builder
	statements.WriteString("SET session_replication_role = replica;") // without triggers and foreign keys, in any order
	if _, err := db.ExecContext(ctx, `CREATE SCHEMA migrated`); err != nil {
		return "", err
	}
	for _, table := range tables {
		statements.WriteString("DELETE FROM " + table + ";")
		var rows bool
		if err := db.GetContext(ctx, &rows, "SELECT EXISTS (SELECT FROM "+table+")"); err != nil {
			return "", err
		}
		if !rows {
			continue
		}
		if _, err := db.ExecContext(ctx, "CREATE TABLE migrated."+table+" AS TABLE "+table); err != nil {
			return "", err
		}
		statements.WriteString("INSERT INTO " + table + " OVERRIDING SYSTEM VALUE TABLE migrated." + table + ";")
	}
	statements.WriteString("RESET session_replication_role;")
	return statements.String(), nil
}

// endSessions ends what still uses a test's database.
const endSessions = `
	SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
	WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid();`

// Exec runs statements that bypass the store.
func Exec(ctx context.Context, dsn, statements string, args ...any) error {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statements, args...)
	return err
}

// Count returns the number that a query reads.
func Count(ctx context.Context, dsn, query string) (n int, err error) {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

// In returns the DSN of another database of the server.
func (s *Server) In(database string) string {
	dsn := strings.Replace(s.DSN(), "dbname=postgres", "dbname="+database, 1)
	if !s.now.IsZero() {
		dsn += " search_path=public,pg_catalog"
	}
	return dsn
}

// Database returns the DSN of an empty, migrated database for this test.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	var dsn string
	select {
	case dsn = <-s.idle:
	default:
		dsn = s.Create(t, Template)
	}
	t.Cleanup(func() {
		// A session of this test may still be ending, and hold a lock that the next one needs.
		err := Exec(context.Background(), dsn, endSessions+s.emptying)
		if err != nil {
			t.Errorf("empty the database: %v", err)
			return
		}
		s.idle <- dsn
	})
	return dsn
}

// Create copies a database, and returns the DSN of the copy, which is deleted with the server.
func (s *Server) Create(t testing.TB, from string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", s.created.Add(1))
	if err := Exec(t.Context(), s.DSN(), "CREATE DATABASE "+name+" TEMPLATE "+from); err != nil {
		t.Fatalf("create a database: %v", err)
	}
	return s.In(name)
}
