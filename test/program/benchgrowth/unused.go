package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
)

// indexScans selects the indexes that are there to be read, with how often they were since the
// statistics were reset. A unique index has another purpose as well.
const indexScans = `
	SELECT s.relname, s.indexrelname, pg_relation_size(s.indexrelid) / 1048576.0, s.idx_scan
	FROM pg_stat_user_indexes s JOIN pg_index i ON i.indexrelid = s.indexrelid
	WHERE NOT i.indisunique ORDER BY s.relname, s.indexrelname`

// printUnused prints the indexes that are in no plan. Others may have scanned them: checks of
// references, the planner, and what prepares a call. A session has stored its numbers when it has
// ended.
func printUnused(ctx context.Context, db *sql.DB, inPlans map[string]bool, out io.Writer) (err error) {
	if err := waitForSessions(ctx, db); err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, indexScans)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	fmt.Fprint(out, "\nIndexes that nothing used (scans are those of references, the planner and preparations):\n\n| table | index | MB | scans |\n|---|---|---|---|\n")
	for rows.Next() {
		var table, index string
		var size float64
		var scans int64
		if err := rows.Scan(&table, &index, &size, &scans); err != nil {
			return err
		}
		if !inPlans[index] {
			fmt.Fprintf(out, "| %s | %s | %.1f | %d |\n", table, index, size, scans)
		}
	}
	fmt.Fprintln(out)
	return rows.Err()
}

// waitForSessions waits until the sessions of the queries, which are closed, have ended.
func waitForSessions(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		var open int
		err := db.QueryRowContext(ctx, `
			SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, queriesPart).Scan(&open)
		if err != nil || open == 0 {
			return err
		}
		if !wait.For(ctx, 10*time.Millisecond) {
			return errors.New("the sessions of the queries have not ended")
		}
	}
}
