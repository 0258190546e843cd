package postgres

import (
	"context"
	"errors"

	"github.com/jmoiron/sqlx"
)

// beginOptional begins a part of a transaction that must not make the whole fail. It waits
// 3 s for a lock, for example of a table that is being rebuilt. That is less than a
// worker waits for the answer to its report. endOptional ends the part.
const (
	beginOptional = `SAVEPOINT optional; SET LOCAL lock_timeout = '3s'`
	endOptional   = `RELEASE SAVEPOINT optional; SET LOCAL lock_timeout = DEFAULT`
	undoOptional  = `ROLLBACK TO SAVEPOINT optional`
)

// These do the same for a part of such a part, or of a group. Its end leaves the outer part as it
// was, of which it keeps how long that waits for a lock.
const (
	beginWithin = `SAVEPOINT within; SELECT set_config('stream_monitor.outer_lock_timeout', current_setting('lock_timeout'), true)`
	endWithin   = `RELEASE SAVEPOINT within; SELECT set_config('lock_timeout', current_setting('stream_monitor.outer_lock_timeout'), true)`
	undoWithin  = `ROLLBACK TO SAVEPOINT within`
)

// errInvalidRecord is a part of the record that this program refuses itself.
type errInvalidRecord struct{ error }

// runPart runs a part of a transaction. refused is called if the part was undone, and the
// transaction goes on without it.
type runPart func(ctx context.Context, tx *sqlx.Tx, work func() error, refused func(error)) error

// optionally runs a part of a transaction that must not make the whole fail, because an
// alert is in it. If the server refuses the part, optionally undoes it and calls refused:
// for a wrong value, a damaged index, or a lock that it cannot give. optionally
// returns an error only if the whole transaction is lost, or if its repetition may help.
func optionally(ctx context.Context, tx *sqlx.Tx, work func() error, refused func(error)) error {
	return runOptional(ctx, tx, beginOptional, endOptional, undoOptional, work, refused)
}

// optionallyWithin does what optionally does for a part of an optional part.
func optionallyWithin(ctx context.Context, tx *sqlx.Tx, work func() error, refused func(error)) error {
	return runOptional(ctx, tx, beginWithin, endWithin, undoWithin, work, refused)
}

// required runs a part without which the transaction fails. It saves the savepoint of
// optionally where the caller repeats the transaction with that.
func required(_ context.Context, _ *sqlx.Tx, work func() error, _ func(error)) error { return work() }

func runOptional(ctx context.Context, tx *sqlx.Tx, beginning, end, undoing string, work func() error, refused func(error)) error {
	if _, err := tx.ExecContext(ctx, beginning); err != nil {
		return err
	}
	err := work()
	if err == nil {
		_, err = tx.ExecContext(ctx, end)
		return err
	}
	if err := undo(ctx, tx, err, undoing); err != nil {
		return err
	}
	refused(err)
	return nil
}

// undo undoes a part that has failed. It returns the failure if an immediate retry of
// the transaction may help, or if the connection or the transaction is lost.
func undo(ctx context.Context, tx *sqlx.Tx, failure error, statement string) error {
	if ctx.Err() != nil || isTransient(failure) {
		return failure
	}
	if _, err := tx.ExecContext(ctx, statement); err != nil {
		return errors.Join(failure, err)
	}
	return nil
}
