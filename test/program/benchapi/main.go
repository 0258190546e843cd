// Command benchapi measures how many reads of one monitor the API answers over 16
// connections, with and without rate limits. It measures PostgreSQL by itself in the
// same run (pgbench, select only, as many connections). It puts a bounded load on a
// service and a database of its own, on loopback.
//
// It then fills another database with 1,000 monitors, 100,000 events, 10,000 incidents, a
// million spans and a million minutes. There it measures lists, incidents, timelines,
// statistics and the start of the feed (section 16). It fails if one that an operator waits for
// takes over 50 ms in one of 100.
//
// Last, it runs all sweeps of the elected gateway over a network of 5 ms there and back. It
// fails if one of 100 transactions of a sweep, and so its locks, takes over 100 ms.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// connections is the number of requests in flight at any time.
const connections = 16

// The API must reach these on a machine with two cores.
const (
	minRate = 2000                  // requests per second
	maxP99  = 20 * time.Millisecond // of a request
)

const help = `How fast does the API answer, and how long do the sweeps of the elected gateway hold locks?

It measures reads of one monitor over 16 connections beside pgbench, then each request of an operator
in a database of 1,000 monitors, and last the sweeps over a network of 5 ms there and back. The exit
code is 1 if one of 100 requests or transactions is slower than its limit.
`

func main() {
	duration := flag.Duration("for", 10*time.Second, "how long reads of one monitor are measured; 0: not at all")
	bench.Main("bench-api", help, func(ctx context.Context) error {
		return bench.InTempDir(func(dir string) error {
			fmt.Println("building")
			binary, err := system.Build(ctx, dir)
			if err != nil {
				return err
			}
			var slow error
			if *duration > 0 {
				slow = measureReads(ctx, filepath.Join(dir, "reads"), binary, *duration)
			}
			return errors.Join(slow, measureRecord(ctx, filepath.Join(dir, "record"), binary))
		})
	})
}

// withGateway calls do with a gateway that asks nobody about streams.
func withGateway(ctx context.Context, binary, dir, dsn string, do func(*system.Service) error, env ...string) (err error) {
	s, err := system.Start(ctx, system.Config{
		Binary: binary, DataDir: filepath.Join(dir, "data"),
		Env: append([]string{"DB_DSN=" + dsn, "MAX_MONITORS=10000", "YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true"}, env...),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	return do(s)
}

// measureReads measures reads of one monitor, and PostgreSQL by itself.
func measureReads(ctx context.Context, dir, binary string, duration time.Duration) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return bench.WithDatabase(ctx, dir, slog.DiscardHandler, func(db bench.Database) error {
		fmt.Printf("%d connections, %s each\n", connections, duration)
		var rate float64
		var took bench.Times
		for _, c := range []struct{ name, env string }{
			{"GET of one monitor, counted by rate limits", "RATE_LIMIT_QUERY_PER_MIN=60000000"}, {"GET of one monitor", "RATE_LIMIT_QUERY_PER_MIN=0"},
		} {
			err := withGateway(ctx, binary, dir, db.DSN, func(s *system.Service) (err error) {
				id, err := s.Register(ctx, "https://www.youtube.com/watch?v=benchmarkID", "http://127.0.0.1:9/hook", nil)
				if err != nil {
					return err
				}
				url := s.URL() + "/api/v1/monitors/" + id
				if _, err = readAll(ctx, url, duration/10); err != nil { // warm
					return err
				}
				took, err = readAll(ctx, url, duration)
				rate = float64(len(took)) / duration.Seconds()
				fmt.Printf("%-42s %8.0f /s   %s\n", c.name, rate, took)
				_, stopped := s.Call(ctx, http.MethodDelete, "/api/v1/monitors/"+id, nil)
				return errors.Join(err, stopped)
			}, c.env)
			if err != nil {
				return err
			}
		}
		tps, err := pgbench(ctx, db.DSN, duration)
		if err != nil {
			return err
		}
		fmt.Printf("%-42s %8.0f /s   a GET is %.2f of it\n", "pgbench, select only", tps, rate/tps)
		if rate < minRate || took.Percentile(99) > maxP99 {
			return fmt.Errorf("expected at least %d requests per second and a p99 of at most %s", minRate, maxP99)
		}
		return nil
	})
}

// readAll requests url repeatedly, over all connections at once.
func readAll(ctx context.Context, url string, duration time.Duration) (bench.Times, error) {
	client := &http.Client{Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}}
	defer client.CloseIdleConnections()
	until := time.Now().Add(duration)
	took := make([]bench.Times, connections)
	failed := make([]error, connections)
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() {
			for time.Now().Before(until) && failed[i] == nil {
				began := time.Now()
				_, failed[i] = get(ctx, client, url)
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	all.Wait()
	return slices.Concat(took...), errors.Join(failed...)
}

// get reads an answer and returns its length.
func get(ctx context.Context, client *http.Client, url string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("X-API-Key", system.APIKey)
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("answered with %s", res.Status)
	}
	return io.Copy(io.Discard, res.Body)
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
	m := tps.FindSubmatch(out)
	if err != nil || m == nil {
		return 0, fmt.Errorf("pgbench: %w\n%s", err, out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
