package postgres_test

import (
	"context"
	"database/sql"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
)

// tryLead calls TryLead once.
func tryLead(t testing.TB, s *postgres.Store) bool {
	t.Helper()
	is := must(s.TryLead(t.Context()))(t)
	return is
}

// waitUntilElected calls TryLead until it succeeds.
func waitUntilElected(t testing.TB, s *postgres.Store) {
	t.Helper()
	eventually(t, "the leadership passes on", func() bool {
		is, err := s.TryLead(t.Context())
		return err == nil && is
	})
}

// leaderPID returns the server process that holds the leader's lock.
func leaderPID(t testing.TB, db *sql.DB) (pid int) {
	t.Helper()
	err := db.QueryRowContext(t.Context(), `
		SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 21325 AND objid = 2
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&pid)
	check(t, err)
	return pid
}

// countConnections counts the connections of stores to the database.
func countConnections(t testing.TB, db *sql.DB) (n int) {
	t.Helper()
	err := db.QueryRowContext(t.Context(), `
		SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'stream-monitor'`).Scan(&n)
	check(t, err)
	return n
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

// requireWithin fails the test if do takes longer than most.
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
			if is, err := first.TryLead(t.Context()); err == nil {
				t.Errorf("the old leader notices nothing: %t", is)
			}
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
		if !tryLead(t, first) {
			t.Fatal("not elected")
		}
		for deadline := began.Add(patience); !tryLead(t, second); {
			if time.Now().After(deadline) {
				t.Fatalf("it goes on for %v", patience)
			}
			time.Sleep(50 * time.Millisecond)
		}
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
		if !tryLead(t, s) {
			t.Fatal("not elected")
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		check(t, s.Insert(ctx, registration(1), unlimited))
		if !tryLead(t, s) {
			t.Error("the leadership is lost")
		}
	})
}

func TestTryLeadEndsWithItsContext(t *testing.T) {
	// noticed asks with a context, which must be obeyed.
	noticed := func(t *testing.T, s *postgres.Store) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		requireWithin(t, promptly, "to notice it", func() {
			if is, err := s.TryLead(ctx); err == nil {
				t.Errorf("nothing is noticed: %t", is)
			}
		})
	}

	t.Run("when its server process is stopped", func(t *testing.T) {
		dsn := database(t)
		s, db := openSlow(t, dsn), raw(t, dsn)
		tryLead(t, s)
		pid := leaderPID(t, db)
		check(t, syscall.Kill(pid, syscall.SIGSTOP))
		noticed(t, s)
		if tryLead(t, s) {
			t.Error("it leads again, and the lock is still held")
		}
		check(t, syscall.Kill(pid, syscall.SIGCONT))
		waitUntilElected(t, s)
	})

	t.Run("when the network drops everything", func(t *testing.T) {
		dsn := database(t)
		proxied := startProxy(t, dsn)
		s, other, db := openSlow(t, proxied.dsn), open(t, dsn), raw(t, dsn)
		tryLead(t, s)
		proxied.dropAll.Store(true)
		noticed(t, s)
		noticed(t, s) // not even a new connection is made
		waitUntilElected(t, other)
		proxied.dropAll.Store(false)
		if tryLead(t, s) {
			t.Error("there are two")
		}
		check(t, errorOfClosing(s, other))
		eventually(t, "no connection is left", func() bool { return countConnections(t, db) == 0 })
	})

	t.Run("also for a second caller, and Close does not wait for it", func(t *testing.T) {
		proxied := startProxy(t, database(t))
		s := openSlow(t, proxied.dsn)
		tryLead(t, s)
		proxied.dropAll.Store(true)
		asked := make(chan error, 1)
		go func() {
			_, err := s.TryLead(t.Context())
			asked <- err
		}()
		noticed(t, s)
		requireWithin(t, promptly, "closing", func() { _ = s.Close() })
		if err := <-asked; err == nil {
			t.Error("a closed store was elected")
		}
	})
}

func errorOfClosing(stores ...*postgres.Store) error {
	for _, s := range stores {
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}
