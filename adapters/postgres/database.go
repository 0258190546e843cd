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

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// database is the connection pool that all types of this package share.
type database struct {
	*sqlx.DB

	zone *time.Location // of the times in webhook payloads
	log  *slog.Logger
}

// A transaction that fails for a transient reason is run maxTries times in all.
// The delay lets a server come back that has lost one of its processes.
const (
	maxTries   = 3
	retryDelay = 100 * time.Millisecond
)

// inTx runs work in a transaction. work must be repeatable: it runs again when
// the connection breaks, also during COMMIT, whose outcome is then unknown.
// operation describes it in errors.
func (db *database) inTx(ctx context.Context, operation string, work func(*sqlx.Tx) error) error {
	var err error
	for try := range maxTries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return wrapError(ctx, operation, err)
			case <-time.After(retryDelay):
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

// wrapError wraps an error with the operation that failed. Errors for callers are
// returned unchanged. If ctx is done, its error is wrapped as well, because the
// driver reports a cancelled statement as error 57014.
func wrapError(ctx context.Context, operation string, err error) error {
	var forCaller *monitor.Error
	switch {
	case err == nil, errors.As(err, &forCaller), errors.Is(err, monitor.ErrSuperseded):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w (%w)", operation, ctx.Err(), err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// isTransient reports whether an immediate retry may help: the connection broke,
// or two transactions conflicted. A server that does not accept connections is
// not waited for.
func isTransient(err error) bool {
	if pq.As(err, pqerror.TRSerializationFailure, pqerror.TRDeadlockDetected,
		pqerror.AdminShutdown, pqerror.CrashShutdown, pqerror.CannotConnectNow) != nil {
		return true
	}
	var network *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.EPIPE) || errors.As(err, &network) && network.Op != "dial"
}

// dataError returns the server's message if it refused a value. That is class 22,
// such as \u0000 or a lone surrogate in JSON or a number out of range, and 54001,
// JSON nested too deeply.
func dataError(err error) (message string, ok bool) {
	if e := pq.As(err); e != nil && (e.Code.Class() == pqerror.ClassDataException || e.Code == pqerror.StatementTooComplex) {
		return e.Message, true
	}
	return "", false
}

// asConfigError turns the server's refusal of a value into an InvalidConfig error
// for the worker that sent it.
func asConfigError(what string, err error) error {
	if message, ok := dataError(err); ok {
		return monitor.Errorf(monitor.InvalidConfig, "%s cannot be stored: %s", what, message)
	}
	return err
}
