package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
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

func heartbeat(t testing.TB, s *postgres.Store, runtimeID string) map[string]int64 {
	t.Helper()
	return must(s.Heartbeat(t.Context(), runtimeID))(t)
}

func TestGatewaysSeeEachOthersHeartbeats(t *testing.T) { // O5
	t.Run("each heartbeat counts, until its gateway leaves", func(t *testing.T) {
		dsn := database(t)
		a, b := open(t, dsn), open(t, dsn)
		heartbeat(t, a, "a")
		first := heartbeat(t, b, "b")["a"]
		if same := heartbeat(t, b, "b")["a"]; first == 0 || same != first {
			t.Errorf("a has sent %d, then %d heartbeats", first, same)
		}
		heartbeat(t, a, "a")
		expect(t, "the heartbeats of a", heartbeat(t, b, "b")["a"], first+1)
		for range 2 {
			check(t, a.Leave(t.Context(), "a"))
		}
		if _, there := heartbeat(t, b, "b")["a"]; there {
			t.Error("a has not left")
		}
	})

	t.Run("gateways of more than a day ago are forgotten, but not the one that comes back", func(t *testing.T) {
		s, db := newStore(t)
		heartbeat(t, s, "old")
		heartbeat(t, s, "older")
		alter(t, db, `UPDATE gateways SET last_heartbeat_at = now() - interval '25 hours'`)
		heartbeat(t, s, "old")
		if counts := heartbeat(t, s, "a"); len(counts) != 1 || counts["old"] != 2 {
			t.Errorf("the counts are %v", counts)
		}
	})

	t.Run("gateways that come back at once after days do not wait for each other", func(t *testing.T) {
		dsn := database(t)
		stores, db := []*postgres.Store{open(t, dsn), open(t, dsn), open(t, dsn), open(t, dsn)}, raw(t, dsn)
		for range 50 {
			for i, s := range stores {
				heartbeat(t, s, fmt.Sprint(i))
			}
			alter(t, db, `UPDATE gateways SET last_heartbeat_at = now() - interval '2 days'`)
			atOnce(t, len(stores), func(i int) error { return errorOf(stores[i].Heartbeat(t.Context(), fmt.Sprint(i))) })
		}
	})
}

func TestAHeartbeatIsIndependent(t *testing.T) {
	t.Run("of transactions that hold all pooled connections", func(t *testing.T) {
		dsn := database(t)
		s := must(postgres.Open(t.Context(), dsn, postgres.Config{MaxConnections: 1}))(t)
		defer s.Close()
		m := register(t, s, 1)
		db := raw(t, dsn)
		holder := holding(t, db, `SELECT 1 FROM monitors WHERE id = $1 FOR UPDATE`, m.ID)
		wait := inBackground(t, func() error { return errorOf(s.AdvanceGeneration(t.Context(), m.ID, 1, "a")) })
		eventually(t, "the pool waits for the lock", func() bool { return waitingForLock(t, db) })
		heartbeat(t, s, "a")
		check(t, holder.Rollback())
		wait()
	})

	t.Run("of the disk of the server", func(t *testing.T) {
		s := open(t, database(t))
		expect(t, "synchronous_commit", must(s.HeartbeatSetting(t.Context(), "synchronous_commit"))(t), "off")
	})
}

func TestAHeartbeatFailsUnlessItIsStored(t *testing.T) {
	t.Run("when the database can only be read, as a standby", func(t *testing.T) {
		dsn := create(t, template)
		s := open(t, dsn)
		heartbeat(t, s, "a")
		alter(t, raw(t, dsn), `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
		other := open(t, dsn+" target_session_attrs=any") // it connects after the change
		expectFailure(t, "a heartbeat that is not stored", errorOf(other.Heartbeat(t.Context(), "b")))
	})

	t.Run("when the server has ended its connection, at most once", func(t *testing.T) {
		s, db := newStore(t)
		heartbeat(t, s, "a")
		alter(t, db, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'stream-monitor'`)
		if _, err := s.Heartbeat(t.Context(), "a"); err != nil {
			heartbeat(t, s, "a")
		}
	})
}
