// Command benchapi measures what the API takes: reading one monitor over 16
// connections, with and without rate limits, beside what PostgreSQL itself
// takes in the same run (pgbench, select only, as many connections). It puts a
// bounded load on loopback, on a service and a database of its own.
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

// connections is how many requests are under way at any time.
const connections = 16

// What the API has to reach on a machine of two cores.
const (
	leastRate = 2000                  // requests a second
	mostP99   = 20 * time.Millisecond // of a request
)

func main() {
	lasts := flag.Duration("for", 10*time.Second, "how long each measurement lasts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *lasts)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-api:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, lasts time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "stream-monitor-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The database runs as another user than root, and must get in.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	fmt.Println("building, and starting PostgreSQL")
	binary, err := system.Build(ctx, dir)
	if err != nil {
		return err
	}
	db, err := embedded.Start(ctx, embedded.Config{DataDir: filepath.Join(dir, "db")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Stop(context.WithoutCancel(ctx))) }()

	bench := func(name string, env ...string) (figures, error) {
		f, err := measure(ctx, lasts, system.Config{
			Binary: binary, DataDir: filepath.Join(dir, "data"),
			Env: append([]string{"DB_DSN=" + db.DSN(), "YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true"}, env...),
		})
		if err != nil {
			return f, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("%-42s %8.0f /s   median %6.2f ms   p99 %6.2f ms\n", name, f.rate, ms(f.median), ms(f.p99))
		return f, nil
	}
	fmt.Printf("%d connections, %s each\n", connections, lasts)
	free, err := bench("GET of one monitor")
	if err != nil {
		return err
	}
	if _, err = bench("GET of one monitor, counted by rate limits", "RATE_LIMIT_QUERY_PER_MIN=60000000"); err != nil {
		return err
	}
	tps, err := pgbench(ctx, db.DSN(), lasts)
	if err != nil {
		return err
	}
	fmt.Printf("%-42s %8.0f /s   a GET is %.2f of it\n", "pgbench, select only", tps, free.rate/tps)
	if free.rate < leastRate || free.p99 > mostP99 {
		return fmt.Errorf("wanted are at least %d requests a second and a p99 of at most %s", leastRate, mostP99)
	}
	return nil
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

// pgbench measures the database by itself, in transactions a second.
func pgbench(ctx context.Context, dsn string, lasts time.Duration) (float64, error) {
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
		"--client="+strconv.Itoa(connections), "--jobs=2", "--time="+strconv.Itoa(max(1, int(lasts.Seconds()))), dsn).CombinedOutput()
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
