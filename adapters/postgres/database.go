package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// database is the connection pool that all types of this package share.
type database struct {
	*sqlx.DB

	zone    *time.Location // of the times in webhook payloads
	log     *slog.Logger
	routing *routingCache
	secrets Secrets
}

// A transaction that fails for a transient reason is tried maxTries times in all. The
// delay gives PostgreSQL time to restart its processes after one of them has crashed.
const (
	maxTries   = 3
	retryDelay = 100 * time.Millisecond
)

// inTx runs work in a transaction. work must be repeatable: inTx runs it again after a
// transient error. If the connection breaks during COMMIT, the transaction may be stored
// already when work runs again. operation describes the transaction in errors.
func (db *database) inTx(ctx context.Context, operation string, work func(*sqlx.Tx) error) error {
	var err error
	for try := range maxTries {
		if try > 0 {
			if !wait.For(ctx, retryDelay) {
				return wrapError(ctx, operation, err)
			}
		}
		if err = db.runTx(ctx, work); !isTransient(err) || ctx.Err() != nil {
			break
		}
	}
	return wrapError(ctx, operation, err)
}

func (db *database) runTx(ctx context.Context, work func(*sqlx.Tx) error) error {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		_ = tx.Rollback() // the connection may be lost, and the transaction with it
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit, outcome unknown: %w", err)
	}
	return nil
}

// wrapError wraps an error with the operation that failed. It returns a *monitor.Error and
// monitor.ErrSuperseded unchanged. If ctx is done, it wraps the context's error as well,
// because the driver reports a cancelled statement as error 57014.
func wrapError(ctx context.Context, operation string, err error) error {
	var refusal *monitor.Error
	switch {
	case err == nil, errors.As(err, &refusal), errors.Is(err, monitor.ErrSuperseded):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w (%w)", operation, ctx.Err(), err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// isTransient reports whether an immediate retry may help. That is so if the connection
// broke, two transactions conflicted, the server is restarting or no primary any more, or a
// prepared statement is stale. It is not so if no server accepts the network connection.
func isTransient(err error) bool {
	if isStale(err) || pq.As(err, pqerror.TRSerializationFailure, pqerror.TRDeadlockDetected,
		pqerror.AdminShutdown, pqerror.CrashShutdown, pqerror.CannotConnectNow, pqerror.ReadOnlySQLTransaction) != nil {
		return true
	}
	var network *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.EPIPE) || errors.As(err, &network) && network.Op != "dial"
}

// isPassing reports whether the reason of the server's refusal passes by itself: it lacks
// space, memory or connections, or has waited too long for a lock. Or another transaction has
// numbered a delivery at the same time.
func isPassing(err error) bool {
	e := pq.As(err)
	return e != nil && (e.Code.Class() == pqerror.ClassInsufficientResources || e.Code == pqerror.LockNotAvailable || e.Code == pqerror.QueryCanceled ||
		e.Constraint == "idx_deliveries_sequence")
}

// refusedValue returns the server's message if the server refused a value. Such errors
// have class 22 (data exception), for example for \u0000 in JSON or for a number out of
// range. JSON that is nested too deeply has error 54001.
func refusedValue(err error) (message string, ok bool) {
	if e := pq.As(err); e != nil && (e.Code.Class() == pqerror.ClassDataException || e.Code == pqerror.StatementTooComplex) {
		return e.Message, true
	}
	return "", false
}

// asInvalidConfig returns an InvalidConfig error for the worker if the server refused a
// value that the worker sent. It returns any other error unchanged.
func asInvalidConfig(value string, err error) error {
	if message, ok := refusedValue(err); ok {
		return monitor.Errorf(monitor.InvalidConfig, "%s cannot be stored: %s", value, message)
	}
	return err
}
