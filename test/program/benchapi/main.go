// Command benchapi measures how fast the API answers, and how long the sweeps of the elected
// gateway hold locks. It uses services and databases of its own, on loopback.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

const help = `How fast does the API answer, and how long do the sweeps of the elected gateway hold locks?

It measures reads of one monitor over 16 connections, then each request of an operator in a database
of 1,000 monitors with 100,000 events, 10,000 incidents, a million spans and a million minutes, and
last the sweeps over a network of 5 ms there and back. The exit code is 1 if one of 100 requests or
transactions is slower than its limit.
`

func main() {
	duration := flag.Duration("for", 10*time.Second, "how long reads of one monitor are measured; 0: not at all")
	bench.Main("bench-api", help, func(ctx context.Context) error {
		return bench.InTempDir(func(dir string) error {
			binary, err := system.Build(ctx, dir)
			if err != nil {
				return err
			}
			return bench.WithDatabase(ctx, dir, slog.DiscardHandler, func(db bench.Database) error {
				g := gateway{binary, filepath.Join(dir, "data"), db}
				var slow error
				if *duration > 0 {
					slow = measureReads(ctx, g, *duration)
				}
				if err := fill(ctx, db); err != nil {
					return errors.Join(slow, err)
				}
				return errors.Join(slow, measureRequests(ctx, g), measureSweeps(ctx, db))
			})
		})
	})
}

// gateway is a gateway that can be started on a database.
type gateway struct {
	binary, dir string
	db          bench.Database
}

// run calls do while the gateway runs. It asks nobody about streams.
func (g gateway) run(ctx context.Context, do func(*system.Service) error, env ...string) (err error) {
	s, err := system.Start(ctx, system.Config{
		Binary: g.binary, DataDir: g.dir,
		Env: append([]string{"DB_DSN=" + g.db.DSN, "MAX_MONITORS=10000", "YTDLP_PATH=/bin/true", "STREAMLINK_PATH=/bin/true"}, env...),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err = do(s); err != nil {
		err = fmt.Errorf("%w; the gateway's log ends:\n%s", err, s.Tail(3))
	}
	return err
}
