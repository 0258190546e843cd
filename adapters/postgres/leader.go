package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

// leaderIdleTimeout is how long the leader may leave its connection unused before
// the server ends it, and the leadership with it. A leader that hangs or cannot
// be reached is thus replaced. PostgreSQL before 14 has no such timeout and
// replaces it when TCP gives the connection up.
const leaderIdleTimeout = 10 * time.Second

const (
	// tryLeaderLock takes the leader's advisory lock if it is free. The lock belongs
	// to the session and ends with it.
	tryLeaderLock = `SELECT pg_try_advisory_lock(21325, 2)`

	setIdleTimeout = `SELECT set_config(name, $1, false) FROM pg_settings WHERE name = 'idle_session_timeout'`
)

// LeaderElection elects one leader among the gateways, by an advisory lock on a
// connection of its own.
type LeaderElection struct {
	idleTimeout time.Duration
	db          *sql.DB       // this one connection, so that TryLead never waits for a free one
	busy        chan struct{} // a semaphore of one for leader
	leader      *sql.Conn     // holds the lock; nil: not the leader
	closing     context.Context
	cancel      context.CancelFunc
}

func newLeaderElection(c driver.Connector) *LeaderElection {
	e := &LeaderElection{idleTimeout: leaderIdleTimeout, db: sql.OpenDB(c), busy: make(chan struct{}, 1)}
	e.db.SetMaxOpenConns(1)
	e.closing, e.cancel = context.WithCancel(context.Background())
	return e
}

// TryLead implements supervisor.Store. The DSN must not name a pooler that changes
// servers between transactions.
func (e *LeaderElection) TryLead(ctx context.Context) (bool, error) {
	leads, err := e.try(ctx)
	return leads, wrapError(ctx, "elect a leader", err)
}

func (e *LeaderElection) try(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.closing, cancel)()
	select {
	case e.busy <- struct{}{}:
		defer func() { <-e.busy }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if e.leader != nil {
		if _, err := e.leader.ExecContext(ctx, `SELECT 1`); err != nil {
			e.resign()
			return false, err
		}
		return true, nil
	}
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return false, err
	}
	e.leader = conn
	elected, err := e.acquire(ctx, conn)
	if err != nil {
		e.resign()
		return false, err
	}
	if !elected {
		e.leader = nil
		return false, conn.Close() // back to the pool, for the next try
	}
	return true, nil
}

// acquire takes the lock if it is free, and limits how long the session may idle.
func (e *LeaderElection) acquire(ctx context.Context, conn *sql.Conn) (elected bool, err error) {
	if err := conn.QueryRowContext(ctx, tryLeaderLock).Scan(&elected); err != nil || !elected {
		return false, err
	}
	_, err = conn.ExecContext(ctx, setIdleTimeout, e.idleTimeout.String())
	return err == nil, err
}

// resign ends the session: returned to the pool, it would keep the lock.
func (e *LeaderElection) resign() {
	_ = e.leader.Raw(func(any) error { return driver.ErrBadConn })
	_ = e.leader.Close() // returns that it is closed already
	e.leader = nil
}

// endElection resigns. No later TryLead succeeds.
func (e *LeaderElection) endElection() error {
	e.cancel()
	e.busy <- struct{}{} // a TryLead under way has just been cancelled
	defer func() { <-e.busy }()
	if e.leader != nil {
		e.resign()
	}
	return e.db.Close()
}
