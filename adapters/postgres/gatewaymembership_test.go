package postgres_test

import (
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
)

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
