// Command benchgrowth measures what a database costs that has grown for years: 100,000
// monitors, half of them active, and 10 million events. It uses a database of its own.
//
// It measures how long a dispatcher takes for one pending event of each of 10,000 monitors, and
// fails above maxDrain. The receiver answers at once.
//
// It then calls every method of the store, and prints a table of the statements. The table says by
// which index each reads how many rows, what it returns, and how long it takes. A second table has
// the indexes that none of them has used.
//
// It builds an index of all events by a migration, as an upgrade does, while reports and
// deliveries go on. It prints the slowest report and fails if that took longer than maxReport.
//
// A database that is kept (-dir) is used again, as the runs before have left it.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	_ "github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/harness/plans"
)

// The parts of the program, in their order.
const (
	drainPart   = "drain"
	queriesPart = "queries"
	indexPart   = "index"
)

func main() {
	monitors := flag.Int("monitors", 100_000, "monitors, half of them active")
	events := flag.Int("events", 10_000_000, "events of all monitors")
	dir := flag.String("dir", "", "directory that keeps the database, which the next run uses again; default: a temporary one")
	only := flag.String("only", drainPart+","+queriesPart+","+indexPart, "what to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, size{*monitors, *events}, *dir, strings.Split(*only, ","))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-growth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, want size, dir string, parts []string) (err error) {
	for _, part := range parts {
		if part != drainPart && part != queriesPart && part != indexPart {
			return fmt.Errorf("%q cannot be measured; accepted are %s, %s and %s", part, drainPart, queriesPart, indexPart)
		}
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "stream-monitor-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	// The database does not run as root and must be able to enter the directory.
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o755)); err != nil {
		return err
	}
	log := &plans.Log{}
	server, err := embedded.Start(ctx, embedded.Config{DataDir: filepath.Join(dir, "db"), Log: slog.New(log)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	db, err := sql.Open("postgres", server.DSN())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // the plans of its statements are not logged, as those of later connections
	store, err := prepare(ctx, server.DSN(), db, want)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return measure(ctx, server.DSN(), store, db, log, parts)
}

// prepare returns the store of a filled database of the newest schema.
func prepare(ctx context.Context, dsn string, db *sql.DB, want size) (store *postgres.Store, err error) {
	filled, err := isFilled(ctx, db, want)
	if err == nil && filled {
		_, err = db.ExecContext(ctx, undo)
	}
	if err != nil {
		return nil, err
	}
	if store, err = postgres.Open(ctx, dsn, postgres.Config{Secrets: plainSecrets{}}); err != nil {
		return nil, err
	}
	err = errors.Join(store.Migrate(ctx), store.RenewFeedEpoch(ctx))
	if err == nil && !filled {
		err = fill(ctx, db, want)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// measure measures the parts. A slow drain does not keep the others from being measured.
func measure(ctx context.Context, dsn string, store *postgres.Store, db *sql.DB, log *plans.Log, parts []string) (err error) {
	if slices.Contains(parts, drainPart) {
		err = measureDrain(ctx, store, db)
	}
	if slices.Contains(parts, queriesPart) {
		if failed := explainQueries(ctx, dsn, db, log, os.Stdout); failed != nil {
			return errors.Join(err, failed)
		}
	}
	if slices.Contains(parts, indexPart) {
		err = errors.Join(err, measureIndex(ctx, dsn, store, db))
	}
	return err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
