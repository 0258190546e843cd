package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// heartbeatSettings let a heartbeat be answered before it is on disk. After a crash of the server
// every gateway sends another one anyway.
var heartbeatSettings = map[string]string{"synchronous_commit": "off"}

// heartbeatQuery counts a heartbeat of the gateway $1 and reads the counts of all, its own as
// before. It deletes other gateways that have sent none for a day: most will never come back
// with that ID. It waits for no other heartbeat.
const heartbeatQuery = `
	WITH sent AS (
		INSERT INTO gateways (runtime_id) VALUES ($1)
		ON CONFLICT (runtime_id) DO UPDATE SET heartbeats = gateways.heartbeats + 1, last_heartbeat_at = now()
		RETURNING 1),
	forgotten AS (
		DELETE FROM gateways WHERE runtime_id = ANY (ARRAY(
			SELECT runtime_id FROM gateways WHERE runtime_id <> $1 AND last_heartbeat_at < now() - interval '1 day' AND EXISTS (SELECT FROM sent)
			FOR UPDATE SKIP LOCKED)))
	SELECT runtime_id, heartbeats FROM gateways`

// MembershipStore stores the heartbeats of gateways (decision O5).
type MembershipStore struct {
	db *sql.DB // a pool of one connection, so that a heartbeat waits for no other statement
}

func newMembershipStore(c driver.Connector) *MembershipStore {
	s := &MembershipStore{db: sql.OpenDB(c)}
	s.db.SetMaxOpenConns(1)
	s.db.SetConnMaxLifetime(maxLifetime)
	return s
}

// Heartbeat implements supervisor.Store.
func (s *MembershipStore) Heartbeat(ctx context.Context, runtimeID string) (map[string]int64, error) {
	counts, err := s.heartbeat(ctx, runtimeID)
	return counts, wrapError(ctx, "send a heartbeat", err)
}

func (s *MembershipStore) heartbeat(ctx context.Context, runtimeID string) (map[string]int64, error) {
	rows, err := s.db.QueryContext(ctx, heartbeatQuery, runtimeID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has its error
	counts := map[string]int64{}
	for rows.Next() {
		var id string
		var n int64
		if err := rows.Scan(&id, &n); err != nil {
			return nil, err
		}
		counts[id] = n
	}
	return counts, rows.Err()
}

// Leave implements supervisor.Store. It keeps no connection, because no heartbeat follows.
func (s *MembershipStore) Leave(ctx context.Context, runtimeID string) error {
	s.db.SetMaxIdleConns(0)
	_, err := s.db.ExecContext(ctx, `DELETE FROM gateways WHERE runtime_id = $1`, runtimeID)
	return wrapError(ctx, "leave the other gateways", err)
}

func (s *MembershipStore) endHeartbeats() error { return s.db.Close() }
