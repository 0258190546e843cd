package postgres_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
)

// server is a real PostgreSQL that all tests share.
var server *postgrestest.Server

const template = postgrestest.Template

func TestMain(m *testing.M) {
	os.Exit(postgrestest.Main(m, postgrestest.Config{Log: slog.New(&serverLog)}, func(s *postgrestest.Server) { server = s }))
}

func database(t testing.TB) string {
	t.Helper()
	return server.Database(t)
}

// create copies a database, which is deleted with the server.
func create(t testing.TB, from string) string {
	t.Helper()
	return server.Create(t, from)
}

// open returns a store on the database of dsn, closed when the test ends.
func open(t testing.TB, dsn string) *postgres.Store {
	t.Helper()
	return openWithKey(t, dsn, reversing{first: "one"})
}

// openWithKey returns a store that encrypts with the key first.
func openWithKey(t testing.TB, dsn string, secrets postgres.Secrets) *postgres.Store {
	t.Helper()
	s := must(postgres.Open(t.Context(), dsn, postgres.Config{Zone: tokyo, MaxConnections: 8, Secrets: secrets}))(t)
	t.Cleanup(func() { check(t, s.Close()) })
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

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expect fails the test unless got is want.
func expect[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// expectLen fails the test unless all has so many elements.
func expectLen[E any](t testing.TB, what string, all []E, want int) {
	t.Helper()
	if len(all) != want {
		t.Errorf("%s: %d, want %d: %+v", what, len(all), want, all)
	}
}

// require ends the test unless got is want.
func require[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: %+v, want %+v", what, got, want)
	}
}

// expectError fails the test unless an error is target.
func expectError(t testing.TB, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: the error is %v, want %v", what, err, target)
	}
}

// expectFailure fails the test unless there is an error.
func expectFailure(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: there is no error", what)
	}
}

// expectText fails the test unless a text has all of the words.
func expectText(t testing.TB, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s does not say %q:\n%s", what, word, text)
		}
	}
}

// atOnce calls act with the numbers below n concurrently, and ends the test if there is an error.
func atOnce(t testing.TB, n int, act func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = act(i) })
	}
	all.Wait()
	check(t, errors.Join(errs...))
}

// allAtOnce calls functions concurrently, and ends the test if there is an error.
func allAtOnce(t testing.TB, acts ...func() error) {
	t.Helper()
	atOnce(t, len(acts), func(i int) error { return acts[i]() })
}

// inBackground calls act. wait waits for its end, and ends the test if there is an error.
func inBackground(t testing.TB, act func() error) (wait func()) {
	t.Helper()
	result := make(chan error, 1)
	go func() { result <- act() }()
	return func() { t.Helper(); check(t, <-result) }
}

// holding begins a transaction with a statement. Unless the test ends it, it is rolled back after the test.
func holding(t testing.TB, db *sql.DB, statement string, args ...any) *sql.Tx {
	t.Helper()
	tx := must(db.BeginTx(t.Context(), nil))(t)
	t.Cleanup(func() { _ = tx.Rollback() })
	must(tx.ExecContext(t.Context(), statement, args...))(t)
	return tx
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

// value reads the only value of a query.
func value[V any](t testing.TB, db *sql.DB, query string, args ...any) (v V) {
	t.Helper()
	check(t, db.QueryRowContext(t.Context(), query, args...).Scan(&v))
	return v
}

// values reads the only column of a query.
func values[V any](t testing.TB, db *sql.DB, query string, args ...any) (all []V) {
	t.Helper()
	rows := must(db.QueryContext(t.Context(), query, args...))(t)
	defer rows.Close()
	for rows.Next() {
		var v V
		check(t, rows.Scan(&v))
		all = append(all, v)
	}
	check(t, rows.Err())
	return all
}

// countRows counts the rows of a table, which may have conditions behind it.
func countRows(t testing.TB, db *sql.DB, table string, args ...any) int {
	t.Helper()
	return value[int](t, db, "SELECT count(*) FROM "+table, args...)
}

// expectRows fails the test unless a table, which may have conditions behind it, has so many rows.
func expectRows(t testing.TB, db *sql.DB, table string, want int, args ...any) {
	t.Helper()
	expect(t, "rows of "+table, countRows(t, db, table, args...), want)
}

// waitingForLock reports whether a session waits for a lock.
func waitingForLock(t testing.TB, db *sql.DB) bool {
	t.Helper()
	return countRows(t, db, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
}
