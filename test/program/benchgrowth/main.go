// Command benchgrowth measures what a database costs that has grown for years: 100,000
// monitors, half of them active, and 10 million events. It uses a database of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"

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
	bench.Main("bench-growth", help, func(ctx context.Context) error {
		measureIn := func(dir string) error {
			return measure(ctx, size{*monitors, *events}, dir)
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

// measure measures both. One that fails does not keep the other from being measured.
func measure(ctx context.Context, want size, dir string) error {
	return bench.WithDatabase(ctx, dir, slog.DiscardHandler, func(db bench.Database) error {
		return bench.WithStore(ctx, db.DSN, postgres.Config{Secrets: plainSecrets{}}, func(store *postgres.Store) error {
			if err := fill(ctx, db, want); err != nil {
				return err
			}
			return errors.Join(measureDrain(ctx, store, db), measureIndex(ctx, store, db))
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
