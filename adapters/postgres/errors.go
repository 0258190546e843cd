package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// A transaction whose connection breaks is tried this often, with a pause
// between that lets a server that lost one of its processes come back.
const (
	tries      = 3
	retryPause = 100 * time.Millisecond
)

// explain wraps an error with what was being done. What the caller may see
// stays as it is; what a done context caused says so, because the driver shows
// a cancelled statement as error 57014.
func explain(ctx context.Context, doing string, err error) error {
	var seen *monitor.Error
	switch {
	case err == nil, errors.As(err, &seen), errors.Is(err, monitor.ErrSuperseded):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w (%w)", doing, ctx.Err(), err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// inTx runs work in a transaction. Work must be repeatable: when the
// connection breaks, also at COMMIT, whose outcome is then unknown, it is run
// again.
func (s *Store) inTx(ctx context.Context, doing string, work func(*sqlx.Tx) error) error {
	var err error
	for try := range tries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return explain(ctx, doing, err)
			case <-time.After(retryPause):
			}
		}
		if err = s.once(ctx, work); !passing(err) || ctx.Err() != nil {
			break
		}
	}
	return explain(ctx, doing, err)
}

func (s *Store) once(ctx context.Context, work func(*sqlx.Tx) error) error {
	tx, err := s.db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		_ = tx.Rollback() // the connection may be gone, and the transaction with it
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit, outcome unknown: %w", err)
	}
	return nil
}

// passing tells whether trying again at once may help: the connection broke,
// or two transactions were in each other's way. A server that is not there at
// all is not waited for.
func passing(err error) bool {
	if pq.As(err, pqerror.TRSerializationFailure, pqerror.TRDeadlockDetected,
		pqerror.AdminShutdown, pqerror.CrashShutdown, pqerror.CannotConnectNow) != nil {
		return true
	}
	var network *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.EPIPE) || errors.As(err, &network) && network.Op != "dial"
}

// unstorable tells whether the database refused a value as such: class 22 is
// bad data, such as \u0000 or a lone surrogate in JSON or a number beyond all
// bounds, 54001 JSON nested too deeply.
func unstorable(err error) (string, bool) {
	if e := pq.As(err); e != nil && (e.Code.Class() == pqerror.ClassDataException || e.Code == pqerror.StatementTooComplex) {
		return e.Message, true
	}
	return "", false
}
