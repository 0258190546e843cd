package postgres

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/lib/pq"
)

// connector opens sessions.
type connector struct {
	driver *pq.Connector
}

// newConnector parses a DSN that completeDSN has completed.
func newConnector(dsn string) (connector, error) {
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return connector{}, withoutDSN(err)
	}
	inner, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return connector{}, withoutDSN(err)
	}
	var ioTimeout time.Duration // none: without a timeout, a statement may take hours
	if ms, err := strconv.Atoi(cfg.Runtime["statement_timeout"]); err == nil && ms > 0 {
		ioTimeout = time.Duration(ms)*time.Millisecond + responseSlack
	}
	inner.Dialer(dialer{ioTimeout})
	return connector{inner}, nil
}

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.driver.Driver() }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	pending := &pendingConn{ctx: ctx, unbind: func() {}}
	conn, err := c.driver.Connect(context.WithValue(ctx, pendingConnKey{}, pending))
	pending.unbind()
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(connection)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("the driver's connection, a %T, lacks a method that is needed", conn)
	}
	return &session{connection: inner, conn: pending.conn, unbind: func() {}}, nil
}

// pendingConn is a connection that is being opened. The driver ends only the dial
// with the context; binding the connection ends the handshake with it as well.
type pendingConn struct {
	ctx    context.Context
	conn   *boundConn
	unbind func()
}

// pendingConnKey is the context key of a *pendingConn.
type pendingConnKey struct{}

// dialer dials for the driver. The driver also dials to cancel statements; those
// connections have no pendingConn, and ioTimeout alone bounds them.
type dialer struct{ ioTimeout time.Duration }

// DialContext implements pq.DialerContext.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	bound := &boundConn{Conn: conn, ioTimeout: d.ioTimeout}
	if pending, ok := ctx.Value(pendingConnKey{}).(*pendingConn); ok {
		pending.unbind() // the connection to a host that was tried before
		pending.conn, pending.unbind = bound, bound.bind(pending.ctx)
	}
	return bound, nil
}

// Dial implements pq.Dialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout implements pq.Dialer.
func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// connection lists the interfaces that the driver's connections implement.
type connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// session is a driver connection on which a context ends every call, even when the
// server does not answer. Rows that are read after a call are under that call's
// context until the next call.
type session struct {
	connection

	conn   *boundConn
	unbind func()
}

func (s *session) bind(ctx context.Context) {
	s.unbind()
	s.unbind = s.conn.bind(ctx)
}

func (s *session) Ping(ctx context.Context) error {
	s.bind(ctx)
	return s.connection.Ping(ctx)
}

func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s.bind(ctx)
	return s.connection.ExecContext(ctx, query, args)
}

func (s *session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s.bind(ctx)
	return s.connection.QueryContext(ctx, query, args)
}

// PrepareContext binds only the call: the statement may be used under other
// contexts.
func (s *session) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s.bind(ctx)
	defer s.bind(context.Background())
	return s.connection.PrepareContext(ctx, query)
}

func (s *session) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	s.bind(ctx)
	tx, err := s.connection.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return transaction{tx, s, ctx}, nil
}

// ResetSession implements driver.SessionResetter.
func (s *session) ResetSession(ctx context.Context) error {
	if s.conn.broken.Load() {
		return driver.ErrBadConn
	}
	return s.connection.ResetSession(ctx)
}

// IsValid implements driver.Validator. The driver keeps a connection after some
// network errors.
func (s *session) IsValid() bool { return !s.conn.broken.Load() && s.connection.IsValid() }

// Close implements driver.Conn. On a lost connection it returns no error.
func (s *session) Close() error {
	s.bind(context.Background())
	if err := s.connection.Close(); !s.conn.broken.Load() {
		return err
	}
	return nil
}

// transaction commits and rolls back under the context of its BeginTx.
type transaction struct {
	driver.Tx

	session *session
	ctx     context.Context
}

func (t transaction) Commit() error {
	t.session.bind(t.ctx)
	return t.Tx.Commit()
}

func (t transaction) Rollback() error {
	t.session.bind(t.ctx)
	return t.Tx.Rollback()
}
