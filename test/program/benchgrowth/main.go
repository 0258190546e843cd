// Command benchgrowth measures what a database costs that has grown for years: 100,000
// monitors, half of them active, and 10 million events. It uses a database of its own.
//
// It measures how long a dispatcher takes for one pending event of each of 10,000 monitors, and
// fails above maxDrain. The receiver answers at once.
//
// It then calls the store as gateways do, and prints a table of the statements. The table says by
// which index each reads how many rows, what it returns, and how long it takes.
//
// It builds an index of all events by a migration, as an upgrade does, while reports and
// deliveries go on. It prints the slowest report and fails if that took longer than maxReport.
package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/harness/plans"
)

//go:embed fill.sql
var fillStatements string

func main() {
	monitors := flag.Int("monitors", 100_000, "monitors, half of them active")
	events := flag.Int("events", 10_000_000, "events of all monitors")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *monitors, *events)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-growth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, monitors, events int) (err error) {
	dir, err := os.MkdirTemp("", "stream-monitor-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The database does not run as root and must be able to enter the directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	log := &plans.Log{}
	server, err := embedded.Start(ctx, embedded.Config{DataDir: filepath.Join(dir, "db"), Log: slog.New(log)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	store, err := postgres.Open(ctx, server.DSN(), postgres.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := errors.Join(store.Migrate(ctx), store.RenewFeedEpoch(ctx)); err != nil {
		return err
	}
	db, err := sql.Open("postgres", server.DSN())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := fill(ctx, db, monitors, events); err != nil {
		return err
	}
	slow := measureDrain(ctx, store, db)
	if err := explainQueries(ctx, server.DSN(), db, log, os.Stdout); err != nil {
		return errors.Join(slow, err)
	}
	return errors.Join(slow, measureIndex(ctx, server.DSN(), store, db))
}

// fill stores the monitors and their events.
func fill(ctx context.Context, db *sql.DB, monitors, events int) error {
	began := time.Now()
	// So many updates of the one row of ended_monitors in a transaction would take minutes.
	if _, err := db.ExecContext(ctx, `ALTER TABLE monitors DISABLE TRIGGER count_inserted`); err != nil {
		return err
	}
	for statement := range strings.SplitSeq(fillStatements, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := db.ExecContext(ctx, statement, monitors, events/monitors); err != nil {
			return fmt.Errorf("fill the database: %w in\n%s", err, statement)
		}
	}
	if _, err := db.ExecContext(ctx, `ALTER TABLE monitors ENABLE TRIGGER count_inserted;
		UPDATE ended_monitors SET completed = (SELECT count(*) FROM monitors WHERE status = 'completed')`); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `VACUUM ANALYZE`); err != nil {
		return err
	}
	fmt.Printf("%d monitors with %d events filled in %.0f s\n", monitors, events, time.Since(began).Seconds())
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
