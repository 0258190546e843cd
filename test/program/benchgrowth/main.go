// Command benchgrowth measures what a database costs that has grown for years: 100,000
// monitors, half of them active, and 10 million events. It uses a database of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

const help = `What does a database cost that has grown for years?

  drain    how long a dispatcher takes for one event of each of 10,000 monitors, at most 15 s
  index    how long reports take while a migration builds an index of all events, at most 1 s

A database that is kept (-dir) is used again, as the runs before have left it. The exit code is 1 if
a limit is exceeded or a call fails.
`

func main() {
	monitors := flag.Int("monitors", 100_000, "monitors, half of them active")
	events := flag.Int("events", 10_000_000, "events of all monitors")
	dir := flag.String("dir", "", "directory that keeps the database, which the next run uses again; default: a temporary one")
	only := flag.String("only", "drain,index", "what to measure")
	bench.Main("bench-growth", help, func(ctx context.Context) error {
		measureIn := func(dir string) error {
			return measure(ctx, size{*monitors, *events}, dir, strings.Split(*only, ","))
		}
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
	all := map[string]func(context.Context, *postgres.Store, bench.Database) error{"drain": measureDrain, "index": measureIndex}
	if i := slices.IndexFunc(parts, func(name string) bool { return all[name] == nil }); i >= 0 {
		return fmt.Errorf("%q cannot be measured: %w", parts[i], bench.ErrUsage)
	}
	return bench.WithDatabase(ctx, dir, slog.DiscardHandler, func(db bench.Database) error {
		return bench.WithStore(ctx, db.DSN, postgres.Config{Secrets: plainSecrets{}}, func(store *postgres.Store) error {
			err := fill(ctx, db, want)
			for i := 0; i < len(parts) && ctx.Err() == nil; i++ {
				err = errors.Join(err, all[parts[i]](ctx, store, db))
			}
			return err
		})
	})
}

// plainSecrets stands for a SECRETS_KEY. It encrypts nothing.
type plainSecrets struct{}

// Seal implements postgres.Secrets.
func (plainSecrets) Seal(text []byte, _ string) ([]byte, error) { return text, nil }

// Open implements postgres.Secrets.
func (plainSecrets) Open(sealed []byte, _ string) (text []byte, current bool, err error) {
	return sealed, true, nil
}
