package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

// leaderIdleTimeout is the idle_session_timeout of the leader's connection. If the leader
// hangs or is cut off, the server ends that connection after this time, and another
// gateway becomes the leader. PostgreSQL before 14 lacks this setting; its server ends
// the connection when TCP keepalive probes fail.
const leaderIdleTimeout = 10 * time.Second

const (
	// tryLeaderLock takes the leader's advisory lock if it is free. The server releases
	// the lock when the session ends.
	tryLeaderLock = `SELECT pg_try_advisory_lock(21325, 2)`

	setIdleTimeout = `SELECT set_config(name, $1, false) FROM pg_settings WHERE name = 'idle_session_timeout'`
)

// LeaderElection elects one leader among the gateways: the gateway whose session holds an
// advisory lock.
type LeaderElection struct {
	idleTimeout time.Duration
	db          *sql.DB       // a pool of one connection, so that TryLead waits for no other statement
	sem         chan struct{} // guards leaderConn; unlike a mutex, it is waited for with a context
	leaderConn  *sql.Conn     // holds the lock; nil: this gateway is not the leader
	closing     context.Context
	cancel      context.CancelFunc
}

func newLeaderElection(c driver.Connector) *LeaderElection {
	e := &LeaderElection{idleTimeout: leaderIdleTimeout, db: sql.OpenDB(c), sem: make(chan struct{}, 1)}
	e.db.SetMaxOpenConns(1)
	e.closing, e.cancel = context.WithCancel(context.Background())
	return e
}

// TryLead implements supervisor.Store. Ping refuses a pooler whose sessions
// change between statements.
func (e *LeaderElection) TryLead(ctx context.Context) (bool, error) {
	leads, err := e.tryLead(ctx)
	return leads, wrapError(ctx, "elect a leader", err)
}

func (e *LeaderElection) tryLead(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.closing, cancel)()
	select {
	case e.sem <- struct{}{}:
		defer func() { <-e.sem }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if e.leaderConn != nil {
		if _, err := e.leaderConn.ExecContext(ctx, proveWriting); err != nil {
			e.resign()
			return false, err
		}
		return true, nil
	}
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return false, err
	}
	e.leaderConn = conn
	elected, err := e.tryLock(ctx, conn)
	if err != nil {
		e.resign()
		return false, err
	}
	if !elected {
		e.leaderConn = nil
		return false, conn.Close() // returns it to the pool, for the next try
	}
	return true, nil
}

// tryLock takes the lock if it is free, and limits how long the session may be idle. A standby
// grants the lock, too, while the primary grants it to another gateway.
func (e *LeaderElection) tryLock(ctx context.Context, conn *sql.Conn) (elected bool, err error) {
	if err := conn.QueryRowContext(ctx, tryLeaderLock).Scan(&elected); err != nil || !elected {
		return false, err
	}
	if _, err := conn.ExecContext(ctx, proveWriting); err != nil {
		return false, err
	}
	_, err = conn.ExecContext(ctx, setIdleTimeout, e.idleTimeout.String())
	return err == nil, err
}

// resign ends the session. In the pool the session would keep the lock.
func (e *LeaderElection) resign() {
	_ = e.leaderConn.Raw(func(any) error { return driver.ErrBadConn })
	_ = e.leaderConn.Close() // always fails: Raw has closed it
	e.leaderConn = nil
}

// endElection resigns, and makes every later TryLead fail.
func (e *LeaderElection) endElection() error {
	e.cancel()
	e.sem <- struct{}{} // does not wait long: the line above has cancelled a running TryLead
	defer func() { <-e.sem }()
	if e.leaderConn != nil {
		e.resign()
	}
	return e.db.Close()
}
