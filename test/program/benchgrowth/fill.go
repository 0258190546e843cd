package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

//go:embed fill.sql
var fillStatements string

// size is how much a database is filled with.
type size struct{ monitors, events int }

// fastFill makes the fill fast. Without triggers no row is compared with the table that it
// refers to, and the rows of ended_monitors and active_monitors are not updated for each monitor.
const fastFill = `
	SET LOCAL session_replication_role = replica;
	SET LOCAL maintenance_work_mem = '512MB';
	SET LOCAL work_mem = '128MB'`

// secondaryIndexes selects the indexes that a fill creates at its end: a sort is faster than
// an insertion for each row.
const secondaryIndexes = `
	SELECT c.relname, pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE c.relnamespace = 'public'::regnamespace AND NOT i.indisunique ORDER BY c.relname`

// isFilled reports whether an earlier run has filled the database. Errors: it was filled with
// other numbers.
func isFilled(ctx context.Context, db *sql.DB, want size) (bool, error) {
	var filled bool
	if err := db.QueryRowContext(ctx, `SELECT to_regclass('bench_growth') IS NOT NULL`).Scan(&filled); err != nil || !filled {
		return false, err
	}
	var got size
	if err := db.QueryRowContext(ctx, `SELECT monitors, events FROM bench_growth`).Scan(&got.monitors, &got.events); err != nil {
		return false, err
	}
	if got != want {
		return false, fmt.Errorf("the database has %d monitors and %d events, not %d and %d: choose another directory, or these numbers", got.monitors, got.events, want.monitors, want.events)
	}
	return true, nil
}

// undo removes what an earlier run has left in a filled database. That is the index that it
// measured, monitors that it released, and what it did not deliver.
const undo = `
	DROP INDEX IF EXISTS idx_bench_growth;
	DELETE FROM goose_db_version WHERE version_id = 99999;
	UPDATE monitors SET reserved_until = NULL WHERE status = 'monitoring' AND reserved_until IS NOT NULL;
	` + clearDeliveries

// clearDeliveries marks all that is pending as made and routed, and lets all destinations have more.
const clearDeliveries = `
	UPDATE monitor_events SET webhook_status = 'sent' WHERE webhook_status = 'pending';
	UPDATE deliveries SET state = 'delivered', due_at = NULL, lease = NULL, queue = NULL, changed = false WHERE state = 'pending';
	UPDATE incidents SET unrouted = 0 WHERE unrouted > 0;
	UPDATE routing_version SET routed_version = version;
	UPDATE destinations SET failures = 0, failing_since = NULL, closed_until = NULL, tokens_at = NULL, delivered_at = now() - interval '1 h'`

// fill stores the monitors and what belongs to them. A fill that is interrupted begins anew.
func fill(ctx context.Context, db *sql.DB, want size) (err error) {
	began := time.Now()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if failed := tx.Rollback(); !errors.Is(failed, sql.ErrTxDone) {
			err = errors.Join(err, failed)
		}
	}()
	if _, err := tx.ExecContext(ctx, fastFill); err != nil {
		return err
	}
	create, err := dropIndexes(ctx, tx)
	if err != nil {
		return err
	}
	for _, statement := range statementsOf(want) {
		title, _, _ := strings.Cut(strings.TrimPrefix(statement, "-- "), "\n")
		if err := execStep(ctx, tx, title, statement); err != nil {
			return err
		}
	}
	for _, statement := range create {
		title, _, _ := strings.Cut(statement, " USING ")
		if err := execStep(ctx, tx, title, statement); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if err := execStep(ctx, db, "VACUUM ANALYZE", `VACUUM ANALYZE`); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, fmt.Sprintf(`CREATE TABLE bench_growth AS SELECT %d AS monitors, %d AS events`, want.monitors, want.events)); err != nil {
		return err
	}
	fmt.Printf("%d monitors with %d events filled in %.0f s\n", want.monitors, want.events, time.Since(began).Seconds())
	return nil
}

// executer is a *sql.DB or a *sql.Tx.
type executer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// execStep executes a statement and prints how long that took.
func execStep(ctx context.Context, q executer, title, statement string) error {
	fmt.Printf("filling: %s", title)
	began := time.Now()
	_, err := q.ExecContext(ctx, statement)
	fmt.Printf(", %.1f s\n", time.Since(began).Seconds())
	if err != nil {
		return fmt.Errorf("fill the database: %w in\n%s", err, statement)
	}
	return nil
}

// statementsOf returns the statements of fill.sql, each with its comment.
func statementsOf(want size) []string {
	_, text, _ := strings.Cut(fillStatements, "\n\n") // behind the comment of the file
	text = strings.NewReplacer(":monitors", strconv.Itoa(want.monitors), ":events", strconv.Itoa(want.events/want.monitors)).Replace(text)
	return strings.Split(strings.TrimSuffix(text, ";\n"), ";\n\n")
}

// dropIndexes drops the secondary indexes and returns the statements that create them.
func dropIndexes(ctx context.Context, tx *sql.Tx) (create []string, err error) {
	rows, err := tx.QueryContext(ctx, secondaryIndexes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var names []string
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			return nil, err
		}
		names, create = append(names, name), append(create, definition)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, `DROP INDEX `+strings.Join(names, ", "))
	return create, err
}
