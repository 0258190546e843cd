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

// connector makes sessions.
type connector struct {
	driver *pq.Connector
}

// newConnector reads a DSN that complete has completed.
func newConnector(dsn string) (connector, error) {
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return connector{}, secretless(err)
	}
	made, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return connector{}, secretless(err)
	}
	var longest time.Duration // without a limit of its own a statement may well be silent for hours
	if ms, err := strconv.Atoi(cfg.Runtime["statement_timeout"]); err == nil && ms > 0 {
		longest = time.Duration(ms)*time.Millisecond + answerSlack
	}
	made.Dialer(dialer{longest})
	return connector{made}, nil
}

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.driver.Driver() }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	d := &dialling{ctx: ctx, unbind: func() {}}
	conn, err := c.driver.Connect(context.WithValue(ctx, diallingKey{}, d))
	d.unbind()
	if err != nil {
		return nil, err
	}
	able, ok := conn.(connection)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("the driver's connection is a %T, which cannot do all that is needed", conn)
	}
	return &session{connection: able, wire: d.wire, unbind: func() {}}, nil
}

// dialling is a connection that is being made. The driver obeys the context in
// dialling only, not in the handshake.
type dialling struct {
	ctx    context.Context
	wire   *wire
	unbind func()
}

type diallingKey struct{}

// dialer is the driver's way to the network. The driver uses it to cancel
// statements as well; those wires belong to nobody and have the limit alone.
type dialer struct{ limit time.Duration }

// DialContext implements pq.DialerContext.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn, limit: d.limit}
	if made, ok := ctx.Value(diallingKey{}).(*dialling); ok {
		made.unbind() // of a host that was tried before
		made.wire, made.unbind = w, w.bind(made.ctx)
	}
	return w, nil
}

// Dial implements pq.Dialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout implements pq.Dialer.
func (d dialer) DialTimeout(network, address string, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// connection is what the driver's connections can do.
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

// session is a connection to the database on which every context is obeyed,
// also when the server does not answer. What is read after a call, as rows are,
// is under that call's context until the next one.
type session struct {
	connection

	wire   *wire
	unbind func()
}

func (s *session) bind(ctx context.Context) {
	s.unbind()
	s.unbind = s.wire.bind(ctx)
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

// PrepareContext leaves the statement free: it may be used under other contexts.
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
	if s.wire.broken.Load() {
		return driver.ErrBadConn
	}
	return s.connection.ResetSession(ctx)
}

// IsValid implements driver.Validator. The driver does not count every failure
// of the network as the end of a connection.
func (s *session) IsValid() bool { return !s.wire.broken.Load() && s.connection.IsValid() }

// Close implements driver.Conn. That a lost connection cannot be told so is no
// error.
func (s *session) Close() error {
	s.bind(context.Background())
	if err := s.connection.Close(); !s.wire.broken.Load() {
		return err
	}
	return nil
}

// transaction ends under the context that it began with.
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
