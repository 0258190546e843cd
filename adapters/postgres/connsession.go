package postgres

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// connector opens sessions. A session has three layers: database/sql calls the session,
// the session calls the driver's pqConn, and that reads and writes a contextConn.
type connector struct {
	driver   *pq.Connector
	settings string        // the statement that sets the runtime parameters of a session
	moves    *atomic.Int64 // how often a server was found to take no changes any more
}

// newConnector parses a DSN that completeDSN has completed. Its runtime parameters take
// precedence over the defaults, and replacements over both. They are set when a session is
// open: PgBouncer refuses a session that begins with them.
func newConnector(dsn string, defaults, replacements map[string]string) (connector, error) {
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return connector{}, withoutDSN(err)
	}
	parameters := maps.Clone(defaults)
	maps.Copy(parameters, cfg.Runtime)
	maps.Copy(parameters, replacements)
	cfg.Runtime = nil
	inner, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return connector{}, withoutDSN(err)
	}
	var ioTimeout time.Duration // 0, no limit: without statement_timeout a statement may take hours
	if ms, err := strconv.Atoi(parameters["statement_timeout"]); err == nil && ms > 0 {
		ioTimeout = time.Duration(ms)*time.Millisecond + answerMargin
	}
	inner.Dialer(dialer{ioTimeout})
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		calls = append(calls, fmt.Sprintf("set_config(%s, %s, false)", pq.QuoteLiteral(name), pq.QuoteLiteral(parameters[name])))
	}
	return connector{inner, "SELECT " + strings.Join(calls, ", "), new(atomic.Int64)}, nil
}

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.driver.Driver() }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opening := &handshake{ctx: ctx}
	conn, err := c.driver.Connect(context.WithValue(ctx, handshakeKey{}, opening))
	opening.end()
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(pqConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("the driver's connection, a %T, lacks a method that is needed", conn)
	}
	s := &session{pqConn: inner, conn: opening.conn, prepared: map[string]preparedStmt{}, moves: c.moves, opened: c.moves.Load()}
	if _, err := s.ExecContext(ctx, c.settings, nil); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// handshake cancels the opening of a connection when its context is done. The driver itself
// obeys the context only until the server has accepted the network connection.
type handshake struct {
	ctx  context.Context
	conn *contextConn // to the host that is tried now; nil: none yet
}

// begin makes the end of the context cancel the handshake on conn. The driver calls it once for each
// host of the DSN that accepts a connection.
func (h *handshake) begin(conn *contextConn) {
	h.end()
	h.conn = conn
	conn.setContext(h.ctx)
}

// end makes the end of the context cancel nothing any more.
func (h *handshake) end() {
	if h.conn != nil {
		h.conn.setContext(context.Background())
	}
}

// handshakeKey is the context key of a *handshake.
type handshakeKey struct{}

// dialer dials for the driver.
type dialer struct{ ioTimeout time.Duration }

// cancelTimeout limits each step of a request to cancel a statement: the dial, a read, a
// write. The driver returns from a prepared statement only after this request. Otherwise a
// silent network would hold the caller for ioTimeout after the end of its context.
const cancelTimeout = time.Second

// DialContext implements pq.DialerContext. A connection without a handshake is for a
// request to cancel a statement.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	opening, ok := ctx.Value(handshakeKey{}).(*handshake)
	if !ok {
		ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
		defer cancel()
		netConn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &contextConn{Conn: netConn, ioTimeout: cancelTimeout}, nil
	}
	netConn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	conn := &contextConn{Conn: netConn, ioTimeout: d.ioTimeout}
	opening.begin(conn)
	return conn, nil
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

// pqConn lists the interfaces that the driver's connections implement.
type pqConn interface {
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

// session is a driver connection whose every call ends with its context, even if the
// server does not answer. The context of a query also ends the reading of its rows,
// until the next call.
type session struct {
	pqConn

	conn          *contextConn
	inTransaction bool                    // until its commit or rollback
	prepared      map[string]preparedStmt // by query

	moves  *atomic.Int64 // of the connector
	opened int64         // moves when the session was opened
}

// maxPrepared is how many statements a connection keeps prepared. That is more than the
// transactions of this package have.
const maxPrepared = 100

// preparedStmt is what the driver's prepared statements implement.
type preparedStmt interface {
	driver.StmtExecContext
	driver.StmtQueryContext
}

// keepPreparedKey is the context key of withPrepared.
type keepPreparedKey struct{}

// withPrepared makes the queries with this context keep their statements prepared, outside
// transactions, too.
func withPrepared(ctx context.Context) context.Context {
	return context.WithValue(ctx, keepPreparedKey{}, true)
}

// prepare returns a prepared statement for a query of withPrepared, or for one with arguments of a
// transaction; nil: the query is sent as it is. These repeat few statements, most of which
// take less time than their parsing and planning. Other queries are planned for their arguments.
func (s *session) prepare(ctx context.Context, query string, args []driver.NamedValue) (preparedStmt, error) {
	if ctx.Value(keepPreparedKey{}) == nil && (!s.inTransaction || len(args) == 0) {
		return nil, nil //nolint:nilnil // nil says that there is none
	}
	if known, ok := s.prepared[query]; ok || len(s.prepared) >= maxPrepared {
		return known, nil
	}
	stmt, err := s.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	usable, ok := stmt.(preparedStmt)
	if !ok {
		return nil, stmt.Close()
	}
	s.prepared[query] = usable
	return usable, nil
}

// isStale reports whether the server refuses a prepared statement because a migration has
// changed what it returns, or because the statement was removed.
func isStale(err error) bool {
	e := pq.As(err, pqerror.FeatureNotSupported, pqerror.InvalidSQLStatementName)
	return e != nil && (e.Code == pqerror.InvalidSQLStatementName || e.Routine == "RevalidateCachedQuery")
}

// note looks at what became of a query. One that is stale is prepared anew by its next try. If
// the server takes no changes any more, because another one is the primary now, this session
// and all others that were opened before are over.
func (s *session) note(query string, err error) {
	if isStale(err) {
		delete(s.prepared, query)
	}
	if pq.As(err, pqerror.ReadOnlySQLTransaction) != nil && s.opened == s.moves.Load() {
		s.moves.Add(1)
	}
}

// isOver reports whether the session is of no use any more.
func (s *session) isOver() bool { return s.conn.broken.Load() || s.opened != s.moves.Load() }

func (s *session) setContext(ctx context.Context) { s.conn.setContext(ctx) }

func (s *session) Ping(ctx context.Context) error {
	s.setContext(ctx)
	return s.pqConn.Ping(ctx)
}

func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	s.setContext(ctx)
	defer func() { s.note(query, err) }()
	stmt, err := s.prepare(ctx, query, args)
	switch {
	case err != nil:
		return nil, err
	case stmt != nil:
		return stmt.ExecContext(ctx, args)
	}
	return s.pqConn.ExecContext(ctx, query, args)
}

func (s *session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	s.setContext(ctx)
	defer func() { s.note(query, err) }()
	stmt, err := s.prepare(ctx, query, args)
	switch {
	case err != nil:
		return nil, err
	case stmt != nil:
		return stmt.QueryContext(ctx, args)
	}
	return s.pqConn.QueryContext(ctx, query, args)
}

// BeginTx implements driver.ConnBeginTx.
func (s *session) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	s.setContext(ctx)
	tx, err := s.pqConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	s.inTransaction = true
	return transaction{tx, s, ctx}, nil
}

// ResetSession implements driver.SessionResetter.
func (s *session) ResetSession(ctx context.Context) error {
	if s.isOver() {
		return driver.ErrBadConn
	}
	return s.pqConn.ResetSession(ctx)
}

// IsValid implements driver.Validator. It checks for network errors itself, because the
// driver calls its connection valid after some of them.
func (s *session) IsValid() bool { return !s.isOver() && s.pqConn.IsValid() }

// Close implements driver.Conn. On a lost connection it returns no error.
func (s *session) Close() error {
	s.setContext(context.Background())
	if err := s.pqConn.Close(); !s.conn.broken.Load() {
		return err
	}
	return nil
}

// transaction commits and rolls back with the context of its BeginTx.
type transaction struct {
	driver.Tx

	session *session
	ctx     context.Context
}

// Commit implements driver.Tx.
func (t transaction) Commit() error {
	t.session.inTransaction = false
	t.session.setContext(t.ctx)
	return t.Tx.Commit()
}

// Rollback implements driver.Tx.
func (t transaction) Rollback() error {
	t.session.inTransaction = false
	t.session.setContext(t.ctx)
	return t.Tx.Rollback()
}
