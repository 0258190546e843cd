package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
)

// tryLead takes the office if nobody has it. It belongs to the connection, and
// ends with it.
const tryLead = `SELECT pg_try_advisory_lock(21325, 2)`

// office is the connection that holds the office, if this gateway does.
type office struct {
	mu   sync.Mutex
	conn *sql.Conn
}

// Lead implements supervise.Roster.
func (s *Store) Lead(ctx context.Context) (bool, error) {
	o := &s.office
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conn != nil {
		if _, err := o.conn.ExecContext(ctx, `SELECT 1`); err != nil {
			o.leave()
			return false, explain(ctx, "keep the office", err)
		}
		return true, nil
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return false, explain(ctx, "be elected", err)
	}
	var elected bool
	if err := conn.QueryRowContext(ctx, tryLead).Scan(&elected); err != nil {
		o.conn = conn
		o.leave()
		return false, explain(ctx, "be elected", err)
	}
	if !elected {
		return false, conn.Close()
	}
	o.conn = conn
	return true, nil
}

// leave closes the connection itself: given back to the pool, it would keep
// the office.
func (o *office) leave() {
	_ = o.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = o.conn.Close()
	o.conn = nil
}
