// Command benchgrowth measures what a database costs that has grown for years: 100,000
// monitors, half of them active, and 10 million events. It uses a database of its own.
//
// It measures how long a dispatcher takes for one pending event of each of 10,000 monitors, and
// fails above maxDrain. The receiver answers at once.
//
// It then calls the store as gateways do, and prints a table of the statements. The table says by
// which index each reads how many rows, what it returns, and how long it takes. A second table has
// the indexes that none of them has used.
//
// It builds an index of all events by a migration, as an upgrade does, while reports and
// deliveries go on. It prints the slowest report and fails if that took longer than maxReport.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/plans"
)

// The parts of the program, in their order.
const (
	drainPart   = "drain"
	queriesPart = "queries"
	indexPart   = "index"
)

const help = `What does a database cost that has grown for years?

  drain    how long a dispatcher takes for one event of each of 10,000 monitors, at most 15 s
  queries  a table of the statements of nearly every call of the store: what each reads and takes
  index    how long reports take while an index of all events is built, at most 1 s

A database that is kept (-dir) is used again, as the runs before have left it. The exit code is 1 if
a limit is exceeded or a call fails.
`

func main() {
	monitors := flag.Int("monitors", 100_000, "monitors, half of them active")
	events := flag.Int("events", 10_000_000, "events of all monitors")
	dir := flag.String("dir", "", "directory that keeps the database, which the next run uses again; default: a temporary one")
	only := flag.String("only", drainPart+","+queriesPart+","+indexPart, "what to measure")
	bench.Main("bench-growth", help, func(ctx context.Context) error {
		parts := strings.Split(*only, ",")
		for _, part := range parts {
			if part != drainPart && part != queriesPart && part != indexPart {
				return fmt.Errorf("%q cannot be measured: %w", part, bench.ErrUsage)
			}
		}
		measureIn := func(dir string) error { return measure(ctx, size{*monitors, *events}, dir, parts) }
		if *dir == "" {
			return bench.InTempDir(measureIn)
		}
		// The database does not run as root and must be able to enter the directory.
		if err := errors.Join(os.MkdirAll(*dir, 0o755), os.Chmod(*dir, 0o755)); err != nil {
			return err
		}
		return measureIn(*dir)
	})
}

// measure measures the parts. One that fails does not keep the others from being measured.
func measure(ctx context.Context, want size, dir string, parts []string) error {
	log := &plans.Log{}
	return bench.WithDatabase(ctx, dir, log, func(db bench.Database) error {
		db.SetMaxOpenConns(1) // the plans of its statements are not logged, as those of later connections
		return bench.WithStore(ctx, db.DSN, postgres.Config{Secrets: plainSecrets{}}, func(store *postgres.Store) (err error) {
			if err := fill(ctx, db, want); err != nil {
				return err
			}
			if slices.Contains(parts, drainPart) {
				err = measureDrain(ctx, store, db)
			}
			if slices.Contains(parts, queriesPart) {
				err = errors.Join(err, explainCalls(ctx, db, log))
			}
			if slices.Contains(parts, indexPart) {
				err = errors.Join(err, measureIndex(ctx, store, db))
			}
			return err
		})
	})
}
