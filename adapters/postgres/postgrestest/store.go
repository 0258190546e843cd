package postgrestest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// Store is a store on a database of its own. One test after the other uses it with its connections, which
// saves each of them most of the time that a Database of its own takes.
type Store struct {
	*postgres.Store

	db   *sql.DB // bypasses the store
	uses int
}

// Exec runs a statement that bypasses the store.
func (s *Store) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := s.db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Count returns the number that a query finds.
func (s *Store) Count(t testing.TB, query string, args ...any) (n int) {
	t.Helper()
	if err := s.db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// RoutingVersion returns a number that each change of destinations, routes and silences makes larger.
func (s *Store) RoutingVersion(t testing.TB) int64 {
	t.Helper()
	return must.Get(s.Routing(t.Context()))(t).Version
}

// Store returns a store on an empty, migrated database for this test. Nothing may use it after the test.
func (s *Server) Store(t testing.TB) *Store {
	t.Helper()
	var store *Store
	select {
	case store = <-s.idleStores:
	default:
		store = s.newStore(t)
	}
	// The store keeps the routing of the newest version that it has read.
	store.uses++
	store.Exec(t, `UPDATE routing_version SET version = $1`, store.uses*100000)
	t.Cleanup(func() {
		if _, err := store.db.ExecContext(context.Background(), s.emptying); err != nil {
			t.Errorf("empty the database: %v", err)
			return
		}
		s.idleStores <- store
	})
	return store
}

// newStore returns a store on a new database, which is closed with the server.
func (s *Server) newStore(t testing.TB) *Store {
	t.Helper()
	dsn := s.Create(t, Template)
	store := must.Get(postgres.Open(t.Context(), dsn, postgres.Config{Secrets: secrets{}, MaxConnections: 4}))(t)
	db := must.Get(sql.Open("postgres", dsn))(t)
	db.SetMaxOpenConns(1)
	return &Store{Store: store, db: db}
}

// secrets is a postgres.Secrets that encrypts nothing, but opens only what it has sealed for the row.
type secrets struct{}

// Seal implements postgres.Secrets.
func (secrets) Seal(text []byte, rowID string) ([]byte, error) {
	return append([]byte(rowID+":"), text...), nil
}

// Open implements postgres.Secrets.
func (secrets) Open(sealed []byte, rowID string) (text []byte, current bool, err error) {
	text, current = bytes.CutPrefix(sealed, []byte(rowID+":"))
	if !current {
		return nil, false, errors.New("SECRETS_KEY does not open it")
	}
	return text, true, nil
}
