// Package bench has what the benchmarks share that are programs: how they start and end, a
// database of their own, and what they measure with.
package bench

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
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// ErrUsage marks the error of a flag's value. The program ends with exit code 2.
var ErrUsage = errors.New("try --help")

// Main parses the flags and runs a program until it ends; SIGINT and SIGTERM end its context.
// Exit codes: 0 it has measured everything and found it within the limits, 1 it has not, 2 wrong
// flags. help is printed before the flags.
func Main(name, help string, run func(context.Context) error) {
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), help+"\nFlags:")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		run = func(context.Context) error { return fmt.Errorf("unexpected argument %q: %w", flag.Arg(0), ErrUsage) }
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	switch {
	case err == nil:
		return
	case errors.Is(err, ErrUsage):
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(1)
}

// InTempDir calls do with a new directory, and removes it.
func InTempDir(do func(dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "stream-monitor-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The database does not run as root and must be able to enter the directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	return do(dir)
}

// Database is a PostgreSQL server with one database.
type Database struct {
	*sql.DB

	DSN string
	dir string
}

// WithDatabase calls do with a server whose data are in dir/db. log gets what it logs.
func WithDatabase(ctx context.Context, dir string, log slog.Handler, do func(Database) error) (err error) {
	db := Database{dir: filepath.Join(dir, "db")}
	server, err := embedded.Start(ctx, embedded.Config{DataDir: db.dir, Log: slog.New(log)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	db.DSN = server.DSN()
	if db.DB, err = sql.Open("postgres", db.DSN); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db)
}

// WithStore calls do with a store of the newest schema. With the epoch of the feed, the ids of its
// entries stay valid when a gateway starts.
func WithStore(ctx context.Context, dsn string, c postgres.Config, do func(*postgres.Store) error) (err error) {
	store, err := postgres.Open(ctx, dsn, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := errors.Join(store.Migrate(ctx), store.RenewFeedEpoch(ctx)); err != nil {
		return err
	}
	return do(store)
}

// Processes returns the server's processes among all. None without /proc.
func (db Database) Processes(all map[int]system.Process) (server []system.Process) {
	text, _ := os.ReadFile(filepath.Join(db.dir, "postgres", "postmaster.pid"))
	first, _, _ := strings.Cut(string(text), "\n")
	main, _ := strconv.Atoi(first)
	for _, p := range all {
		if p.PID == main || p.Parent == main && main > 0 {
			server = append(server, p)
		}
	}
	return server
}

// CPU returns the CPU time that the server has used. 0 without /proc.
func (db Database) CPU(all map[int]system.Process) (sum time.Duration) {
	for _, p := range db.Processes(all) {
		sum += p.CPU + p.Waited
	}
	return sum
}

// OwnCPU returns the CPU time that this process has used.
func OwnCPU() time.Duration {
	var own syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil {
		return 0
	}
	return time.Duration(own.Utime.Nano() + own.Stime.Nano())
}

// Times are the durations of something that was repeated.
type Times []time.Duration

// Percentile returns the smallest time that p in 100 of the times do not exceed; 0: nothing was repeated.
func (t Times) Percentile(p int) time.Duration {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// String returns the median, the p99 and the largest.
func (t Times) String() string {
	return fmt.Sprintf("median %6.1f ms   p99 %6.1f ms   slowest %6.1f ms", MS(t.Percentile(50)), MS(t.Percentile(99)), MS(t.Percentile(100)))
}

// MarshalText implements encoding.TextMarshaler. It adds how many times there are.
func (t Times) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d: %s", len(t), t), nil }

// MS converts a duration to milliseconds.
func MS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
