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

	"github.com/stream-monitor/stream-monitor/test/harness/bench"
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
	SELECT string_agg(c.relname, ', '), string_agg(pg_get_indexdef(i.indexrelid), '; ') FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
	WHERE c.relnamespace = 'public'::regnamespace AND NOT i.indisunique`

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
	UPDATE destinations SET failures = 0, failing_since = NULL, circuit_open_until = NULL, tokens_at = NULL, delivered_at = now() - interval '1 h'`

// fill stores the monitors and what belongs to them, unless an earlier run has done it. A fill that
// is interrupted begins anew. Errors: the database was filled with other numbers.
func fill(ctx context.Context, db bench.Database, want size) error {
	var filled bool
	if err := db.QueryRowContext(ctx, `SELECT to_regclass('bench_growth') IS NOT NULL`).Scan(&filled); err != nil {
		return err
	}
	if filled {
		var got size
		if err := db.QueryRowContext(ctx, `SELECT monitors, events FROM bench_growth`).Scan(&got.monitors, &got.events); err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("the database has %d monitors and %d events, not %d and %d: choose another directory, or these numbers", got.monitors, got.events, want.monitors, want.events)
		}
		return errorOf(db.ExecContext(ctx, undo))
	}
	began := time.Now()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fillIn(ctx, tx, want); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, statement := range []string{`VACUUM ANALYZE`, fmt.Sprintf(`CREATE TABLE bench_growth AS SELECT %d AS monitors, %d AS events`, want.monitors, want.events)} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	fmt.Printf("%d monitors with %d events filled in %.0f s\n", want.monitors, want.events, time.Since(began).Seconds())
	return nil
}

// fillIn executes the statements of fill.sql.
func fillIn(ctx context.Context, tx *sql.Tx, want size) error {
	var indexes, create string
	if err := tx.QueryRowContext(ctx, secondaryIndexes).Scan(&indexes, &create); err != nil {
		return err
	}
	_, text, _ := strings.Cut(fillStatements, "\n\n") // behind the comment of the file
	text = strings.NewReplacer(":monitors", strconv.Itoa(want.monitors), ":events", strconv.Itoa(want.events/want.monitors)).Replace(text)
	for _, statement := range append(strings.Split(strings.TrimSuffix(text, ";\n"), ";\n\n"), "-- indexes\n"+create) {
		title, _, _ := strings.Cut(strings.TrimPrefix(statement, "-- "), "\n")
		fmt.Println("filling:", title)
		if title == "everything is removed" {
			statement = fastFill + "; DROP INDEX " + indexes + ";" + statement
		}
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("fill the database: %w in\n%s", err, statement)
		}
	}
	return nil
}
