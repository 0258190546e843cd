package postgres_test

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
	_ "github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
)

// server is a real PostgreSQL that all tests share. Each test has its own database,
// a copy of a migrated one.
var server *embedded.Server

const template = "migrated"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(gatewayOf); dsn != "" {
		os.Exit(runGateway(dsn, os.Getenv(gatewayTells)))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store-test-")
	if err != nil {
		return broken(err)
	}
	defer os.RemoveAll(dir)
	if server, err = embedded.Start(ctx, embedded.Config{DataDir: dir, Log: slog.New(&serverLog)}); err != nil {
		return broken(err)
	}
	defer server.Stop(ctx)
	if err := prepare(ctx); err != nil {
		return broken(err)
	}
	return m.Run()
}

func broken(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// prepare creates the database from which the others are copied. The server does not wait
// for the disk: tests that kill a server have one of their own.
func prepare(ctx context.Context) error {
	for _, statement := range []string{"ALTER ROLE ALL SET synchronous_commit = off", "CREATE DATABASE " + template} {
		if err := execute(ctx, server.DSN(), statement); err != nil {
			return err
		}
	}
	s, err := postgres.Open(ctx, in(template), postgres.Config{})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Migrate(ctx); err != nil {
		return err
	}
	emptying, err = statementsThatEmpty(ctx, in(template))
	return err
}

// emptying ends what still uses a test's database, and brings every table to the rows that
// the migrations gave it.
var emptying string

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
	statements := `
		SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
		WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid();
		SET session_replication_role = replica;` // without triggers and foreign keys, in any order
	if _, err := db.ExecContext(ctx, `CREATE SCHEMA migrated`); err != nil {
		return "", err
	}
	for _, table := range tables {
		statements += "DELETE FROM " + table + ";"
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
		statements += "INSERT INTO " + table + " OVERRIDING SYSTEM VALUE TABLE migrated." + table + ";"
	}
	return statements, nil
}

func execute(ctx context.Context, dsn, statement string) error {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// in returns the DSN of another database of the server.
func in(database string) string {
	return strings.Replace(server.DSN(), "dbname=postgres", "dbname="+database, 1)
}

// idle holds emptied databases for reuse: creating one takes longer than most tests.
var (
	idle    = make(chan string, 100)
	created atomic.Int64
)

// database returns the DSN of an empty, migrated database for this test.
func database(t testing.TB) string {
	t.Helper()
	var dsn string
	select {
	case dsn = <-idle:
	default:
		dsn = create(t, template)
	}
	t.Cleanup(func() {
		// A session of this test may still be ending, and hold a lock that the next one needs.
		err := execute(context.Background(), dsn, emptying)
		if err != nil {
			t.Errorf("empty the database: %v", err)
			return
		}
		idle <- dsn
	})
	return dsn
}

// create creates a database that is deleted with the server.
func create(t testing.TB, from string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", created.Add(1))
	if err := execute(t.Context(), server.DSN(), "CREATE DATABASE "+name+" TEMPLATE "+from); err != nil {
		t.Fatalf("create a database: %v", err)
	}
	return in(name)
}

// open returns a store on the database of dsn, closed when the test ends.
func open(t testing.TB, dsn string) *postgres.Store {
	t.Helper()
	s := must(postgres.Open(t.Context(), dsn, postgres.Config{Zone: tokyo, MaxConnections: 8}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// raw returns a connection pool that bypasses the store.
func raw(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db := must(sql.Open("postgres", dsn))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// newStore returns a store on an empty database, and a connection pool that bypasses it.
func newStore(t testing.TB) (*postgres.Store, *sql.DB) {
	t.Helper()
	dsn := database(t)
	return open(t, dsn), raw(t, dsn)
}

// newGateways returns the stores of two gateways on an empty database, and a connection pool that bypasses them.
func newGateways(t testing.TB) ([]*postgres.Store, *sql.DB) {
	t.Helper()
	dsn := database(t)
	return []*postgres.Store{open(t, dsn), open(t, dsn)}, raw(t, dsn)
}

// must returns v, or fails the test.
func must[V any](v V, err error) func(t testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		check(t, err)
		return v
	}
}

// check fails the test if there is an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// holding begins a transaction with a statement. Unless the test ends it, it is rolled back after the test.
func holding(t testing.TB, db *sql.DB, statement string, args ...any) *sql.Tx {
	t.Helper()
	tx := must(db.BeginTx(t.Context(), nil))(t)
	t.Cleanup(func() { _ = tx.Rollback() })
	must(tx.ExecContext(t.Context(), statement, args...))(t)
	return tx
}

// locked takes an advisory lock, on which statements wait until unlock.
func locked(t *testing.T, db *sql.DB, key int) (unlock func()) {
	t.Helper()
	holder := must(db.Conn(t.Context()))(t)
	t.Cleanup(func() { _ = holder.Close() })
	ask := func(statement string) {
		t.Helper()
		must(holder.ExecContext(t.Context(), statement, key))(t)
	}
	ask(`SELECT pg_advisory_lock($1)`)
	return func() { t.Helper(); ask(`SELECT pg_advisory_unlock($1)`) }
}

// alter runs a statement that bypasses the store.
func alter(t testing.TB, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// patience is how long a test waits for what must come. A killed server needs more than
// 10 s to recover while other tests use the disk.
const patience = time.Minute

// eventually polls until is returns true, and fails the test when patience is over.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("still not so after %s: %s", patience, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// countRows counts the rows of a table, which may have conditions behind it.
func countRows(t testing.TB, db *sql.DB, table string, args ...any) (n int) {
	t.Helper()
	check(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table, args...).Scan(&n))
	return n
}

// expectRows fails the test unless a table, which may have conditions behind it, has so many rows.
func expectRows(t testing.TB, db *sql.DB, table string, want int, args ...any) {
	t.Helper()
	if n := countRows(t, db, table, args...); n != want {
		t.Errorf("%s: %d rows, want %d", table, n, want)
	}
}

// waitingForLock reports whether a session waits for a lock.
func waitingForLock(t testing.TB, db *sql.DB) bool {
	t.Helper()
	return countRows(t, db, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
}
