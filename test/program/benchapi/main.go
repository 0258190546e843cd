// Command benchapi measures how many reads of one monitor the API answers over 16
// connections, with and without rate limits. It measures PostgreSQL by itself in the
// same run (pgbench, select only, as many connections). It puts a bounded load on a
// service and a database of its own, on loopback.
//
// It then fills another database with 1,000 monitors, 100,000 events, 10,000 incidents, a
// million spans and a million minutes. There it measures lists, incidents, timelines,
// statistics and the start of the feed (section 16). It writes the plans of their queries
// to a file. It fails if one that an operator waits for takes over 50 ms in one of 100.
//
// Last, it runs all sweeps of the elected gateway over a network of 5 ms there and back. It
// fails if one of 100 transactions of a sweep, and so its locks, takes over 100 ms.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// connections is the number of requests in flight at any time.
const connections = 16

// The API must reach these on a machine with two cores.
const (
	minRate = 2000                  // requests per second
	maxP99  = 20 * time.Millisecond // of a request
)

func main() {
	duration := flag.Duration("for", 10*time.Second, "how long reads of one monitor are measured; 0: not at all")
	plans := flag.String("plans", filepath.Join(os.TempDir(), "bench-api-plans.txt"), "file for the plans of the queries")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *duration, *plans)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-api:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, duration time.Duration, plans string) (err error) {
	dir, err := os.MkdirTemp("", "stream-monitor-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The database does not run as root and must be able to enter the directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	fmt.Println("building")
	binary, err := system.Build(ctx, dir)
	if err != nil {
		return err
	}
	var slow error
	if duration > 0 {
		slow = measureReads(ctx, dir, binary, duration)
	}
	return errors.Join(slow, measureRecord(ctx, dir, binary, plans))
}

// measureReads measures reads of one monitor, and PostgreSQL by itself.
func measureReads(ctx context.Context, dir, binary string, duration time.Duration) (err error) {
	db, err := embedded.Start(ctx, embedded.Config{DataDir: filepath.Join(dir, "db")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Stop(context.WithoutCancel(ctx))) }()

	bench := func(name string, env ...string) (result, error) {
		f, err := measure(ctx, duration, system.Config{
			Binary: binary, DataDir: filepath.Join(dir, "data"),
			Env: append([]string{"DB_DSN=" + db.DSN(), "YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true"}, env...),
		})
		if err != nil {
			return f, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("%-42s %8.0f /s   median %6.2f ms   p99 %6.2f ms\n", name, f.rate, ms(f.median), ms(f.p99))
		return f, nil
	}
	fmt.Printf("%d connections, %s each\n", connections, duration)
	free, err := bench("GET of one monitor")
	if err != nil {
		return err
	}
	if _, err = bench("GET of one monitor, counted by rate limits", "RATE_LIMIT_QUERY_PER_MIN=60000000"); err != nil {
		return err
	}
	tps, err := pgbench(ctx, db.DSN(), duration)
	if err != nil {
		return err
	}
	fmt.Printf("%-42s %8.0f /s   a GET is %.2f of it\n", "pgbench, select only", tps, free.rate/tps)
	if free.rate < minRate || free.p99 > maxP99 {
		return fmt.Errorf("expected at least %d requests per second and a p99 of at most %s", minRate, maxP99)
	}
	return nil
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

// pgbench measures the database by itself, in transactions per second.
func pgbench(ctx context.Context, dsn string, duration time.Duration) (float64, error) {
	path, err := exec.LookPath("pgbench")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench") // fails on a bad pattern only
		if len(found) == 0 {
			return 0, errors.New("pgbench is not installed; it comes with PostgreSQL's server packages")
		}
		path = found[len(found)-1]
	}
	if out, err := exec.CommandContext(ctx, path, "--initialize", "--quiet", dsn).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("pgbench --initialize: %w\n%s", err, out)
	}
	out, err := exec.CommandContext(ctx, path, "--select-only", "--no-vacuum", "--protocol=prepared",
		"--client="+strconv.Itoa(connections), "--jobs=2", "--time="+strconv.Itoa(max(1, int(duration.Seconds()))), dsn).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w\n%s", err, out)
	}
	m := tps.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("pgbench printed no rate:\n%s", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
