package postgres_test

import (
	"context"
	"database/sql"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
)

func tryLead(t testing.TB, s *postgres.Store) bool {
	t.Helper()
	return must(s.TryLead(t.Context()))(t)
}

func waitUntilElected(t testing.TB, s *postgres.Store) {
	t.Helper()
	eventually(t, "the leadership passes on", func() bool {
		is, err := s.TryLead(t.Context())
		return err == nil && is
	})
}

// leaderPID returns the server process that holds the leader's lock.
func leaderPID(t testing.TB, db *sql.DB) int {
	t.Helper()
	return value[int](t, db, `
		SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 21325 AND objid = 2
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
}

func countConnections(t testing.TB, db *sql.DB) int {
	t.Helper()
	return countRows(t, db, `pg_stat_activity WHERE datname = current_database() AND application_name = 'stream-monitor'`)
}

// promptly is how long what waits for nobody takes at most on a busy machine. What it must not wait for takes
// patience: the transaction of a session with longIdle, and the statements of a store of openSlow.
const (
	promptly = patience / 2
	longIdle = " idle_in_transaction_session_timeout=60000"
)

// openSlow opens a store that gives a statement patience.
func openSlow(t testing.TB, dsn string) *postgres.Store {
	t.Helper()
	s := must(postgres.Open(t.Context(), dsn, postgres.Config{MaxConnections: 8, StatementTimeout: patience}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func requireWithin(t testing.TB, most time.Duration, what string, do func()) {
	t.Helper()
	began := time.Now()
	do()
	if took := time.Since(began); took > most {
		t.Errorf("%s took %v", what, took)
	}
}

func TestOneGatewayIsTheLeader(t *testing.T) { // O5
	for name, end := range map[string]func(t *testing.T, leader *postgres.Store, proxied *proxy, db *sql.DB){
		"its store is closed": func(t *testing.T, leader *postgres.Store, _ *proxy, _ *sql.DB) { check(t, leader.Close()) },
		"the server ends its connection": func(t *testing.T, _ *postgres.Store, _ *proxy, db *sql.DB) {
			alter(t, db, `SELECT pg_terminate_backend($1)`, leaderPID(t, db))
		},
		"it is killed": func(_ *testing.T, _ *postgres.Store, proxied *proxy, _ *sql.DB) { proxied.close() },
	} {
		t.Run("another becomes the leader when "+name, func(t *testing.T) {
			dsn := database(t)
			proxied := startProxy(t, dsn)
			first, second := open(t, proxied.dsn), open(t, dsn)
			if !tryLead(t, first) || tryLead(t, second) || !tryLead(t, first) {
				t.Fatal("it is not the first that leads")
			}
			end(t, first, proxied, raw(t, dsn))
			waitUntilElected(t, second)
			expectFailure(t, "what the old leader notices", errorOf(first.TryLead(t.Context())))
			if is, _ := first.TryLead(t.Context()); is {
				t.Error("there are two")
			}
		})
	}

	t.Run("a leader that no longer asks is replaced", func(t *testing.T) {
		dsn := database(t)
		first, second := open(t, dsn), open(t, dsn)
		first.ShortenTimeouts()
		began := time.Now()
		require(t, "it leads", tryLead(t, first), true)
		waitUntilElected(t, second)
		if term := time.Since(began); term < 900*time.Millisecond {
			t.Errorf("the leadership was lost after %v", term)
		}
		if is, err := first.TryLead(t.Context()); err == nil && is {
			t.Error("there are two")
		}
	})

	t.Run("one pooled connection is enough", func(t *testing.T) {
		s := must(postgres.Open(t.Context(), database(t), postgres.Config{MaxConnections: 1}))(t)
		defer s.Close()
		require(t, "it leads", tryLead(t, s), true)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		check(t, s.Insert(ctx, registration(1), unlimited))
		require(t, "it leads", tryLead(t, s), true)
	})
}

func TestTryLeadEndsWithItsContext(t *testing.T) {
	// noticed asks with a context, which must be obeyed.
	noticed := func(t *testing.T, s *postgres.Store) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		requireWithin(t, promptly, "to notice it", func() {
			expectFailure(t, "leading with nobody who answers", errorOf(s.TryLead(ctx)))
		})
	}

	t.Run("when its server process is stopped", func(t *testing.T) {
		dsn := database(t)
		s, db := openSlow(t, dsn), raw(t, dsn)
		tryLead(t, s)
		pid := leaderPID(t, db)
		check(t, syscall.Kill(pid, syscall.SIGSTOP))
		noticed(t, s)
		expect(t, "it leads while the lock is still held", tryLead(t, s), false)
		check(t, syscall.Kill(pid, syscall.SIGCONT))
		waitUntilElected(t, s)
	})

	t.Run("when the network drops everything, also for a second caller", func(t *testing.T) {
		dsn := database(t)
		proxied := startProxy(t, dsn)
		s, other, db := openSlow(t, proxied.dsn), open(t, dsn), raw(t, dsn)
		tryLead(t, s)
		proxied.dropAll.Store(true)
		noticed(t, s)
		noticed(t, s) // not even a new connection is made
		waitUntilElected(t, other)
		proxied.dropAll.Store(false)
		expect(t, "a second one leads", tryLead(t, s), false)
		proxied.dropAll.Store(true)
		wait := inBackground(t, func() error {
			expectFailure(t, "the election of a closed store", errorOf(s.TryLead(t.Context())))
			return nil
		})
		noticed(t, s)
		requireWithin(t, promptly, "closing", func() { _ = s.Close() })
		wait()
		check(t, other.Close())
		eventually(t, "no connection is left", func() bool { return countConnections(t, db) == 0 })
	})
}
