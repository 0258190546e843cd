package postgres_test

import (
	"database/sql"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
)

// server is a real PostgreSQL that all tests share.
var server *postgrestest.Server

const template = postgrestest.Template

func TestMain(m *testing.M) {
	if dsn := os.Getenv(gatewayOf); dsn != "" {
		os.Exit(runGateway(dsn, os.Getenv(gatewayTells)))
	}
	os.Exit(postgrestest.Main(m, postgrestest.Config{Log: slog.New(&serverLog)}, func(s *postgrestest.Server) { server = s }))
}

// database returns the DSN of an empty, migrated database for this test.
func database(t testing.TB) string {
	t.Helper()
	return server.Database(t)
}

// create creates a database that is deleted with the server.
func create(t testing.TB, from string) string {
	t.Helper()
	return server.Create(t, from)
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
