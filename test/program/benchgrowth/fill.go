package main

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

//go:embed fill.sql
var fillStatements string

// size is how much a database is filled with.
type size struct{ monitors, events int }

// undo removes what an earlier run has left in a filled database. That is the index that it
// measured, and what it did not deliver.
const undo = `
	DROP INDEX IF EXISTS idx_bench_growth;
	DELETE FROM goose_db_version WHERE version_id = 99999;
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
	var got size
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS bench_growth (monitors int, events int)`); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, `SELECT COALESCE(max(monitors), 0), COALESCE(max(events), 0) FROM bench_growth`).Scan(&got.monitors, &got.events); err != nil {
		return err
	}
	switch got {
	case want:
		_, err := db.ExecContext(ctx, undo)
		return err
	case size{}:
		err := db.Fill(ctx, fillStatements, ":monitors", strconv.Itoa(want.monitors), ":events", strconv.Itoa(want.events/want.monitors))
		if err == nil {
			_, err = db.ExecContext(ctx, `INSERT INTO bench_growth VALUES ($1, $2)`, want.monitors, want.events)
		}
		return err
	}
	return fmt.Errorf("the database has %d monitors and %d events: choose another directory, or these numbers", got.monitors, got.events)
}
