package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

// officeTerm is how long the leader may leave its connection unused before the
// server ends it, and the office with it: a gateway that hangs, or that nobody
// can reach any more, leads nobody. PostgreSQL before 14 cannot do that, and
// waits for the network to give the connection up.
const officeTerm = 10 * time.Second

const (
	// tryLead takes the office if nobody has it. It belongs to the connection,
	// and ends with it.
	tryLead = `SELECT pg_try_advisory_lock(21325, 2)`

	limitOffice = `SELECT set_config(name, $1, false) FROM pg_settings WHERE name = 'idle_session_timeout'`
)

// office is the one connection that is elected with.
type office struct {
	term    time.Duration
	db      *sql.DB       // that connection and no other, so that it never has to wait for one
	desk    chan struct{} // holds a token while somebody uses what follows
	conn    *sql.Conn     // nil: not elected
	closing context.Context
	shut    context.CancelFunc
}

func newOffice(c driver.Connector) *office {
	o := &office{term: officeTerm, db: sql.OpenDB(c), desk: make(chan struct{}, 1)}
	o.db.SetMaxOpenConns(1)
	o.closing, o.shut = context.WithCancel(context.Background())
	return o
}

// TryLead implements supervisor.Store. The office needs a connection that is not
// shared: DB_DSN must not lead to a pooler that changes servers between
// transactions.
func (s *Store) TryLead(ctx context.Context) (bool, error) {
	leads, err := s.office.ask(ctx)
	return leads, explain(ctx, "be elected", err)
}

func (o *office) ask(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.closing, cancel)()
	select {
	case o.desk <- struct{}{}:
		defer func() { <-o.desk }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if o.conn != nil {
		if _, err := o.conn.ExecContext(ctx, `SELECT 1`); err != nil {
			o.leave()
			return false, err
		}
		return true, nil
	}
	conn, err := o.db.Conn(ctx)
	if err != nil {
		return false, err
	}
	o.conn = conn
	elected, err := o.stand(ctx, conn)
	if err != nil {
		o.leave()
		return false, err
	}
	if !elected {
		o.conn = nil
		return false, conn.Close() // kept for the next question
	}
	return true, nil
}

// stand is a candidacy.
func (o *office) stand(ctx context.Context, conn *sql.Conn) (elected bool, err error) {
	if err := conn.QueryRowContext(ctx, tryLead).Scan(&elected); err != nil || !elected {
		return false, err
	}
	_, err = conn.ExecContext(ctx, limitOffice, o.term.String())
	return err == nil, err
}

// leave ends the connection itself: given back, it would keep the office.
func (o *office) leave() {
	_ = o.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = o.conn.Close() // says that it is closed already
	o.conn = nil
}

// close gives the office up. Nobody is elected any more.
func (o *office) close() error {
	o.shut()
	o.desk <- struct{}{} // whoever is asking has just been told to stop
	defer func() { <-o.desk }()
	if o.conn != nil {
		o.leave()
	}
	return o.db.Close()
}
