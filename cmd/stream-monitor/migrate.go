package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
)

// stopLimit is how long a private database may take to shut down.
const stopLimit = 10 * time.Second

// Run brings the database to this version.
func (c *MigrateCmd) Run(ctx context.Context, hurry haste, io console) error {
	log, err := logging.New(io.err, c.Log.LogLevel, time.Local)
	if err != nil {
		return err
	}
	if err := c.Database.migrate(ctx, hurry, log); err != nil {
		return logged(log.With("component", "migrate"), err)
	}
	_, err = fmt.Fprintln(io.out, "the database is up to date")
	return err
}

func (f DatabaseFlags) migrate(ctx context.Context, hurry haste, log *slog.Logger) error {
	store, done, err := f.open(ctx, hurry, log)
	if err != nil {
		return err
	}
	defer done()
	return prepare(ctx, store)
}

// open makes the way to the database that DB_DSN names, which need not be there,
// or starts the private one (decision P3). done ends both, the latter by force if
// there is haste.
func (f DatabaseFlags) open(ctx context.Context, hurry haste, log *slog.Logger) (store *postgres.Store, done func(), err error) {
	dsn, stop := f.DBDSN, func() {}
	if !f.Production() {
		server, err := embedded.Start(ctx, embedded.Config{DataDir: f.DataDir, Log: log})
		if err != nil {
			return nil, nil, err
		}
		dsn = server.DSN()
		stop = func() {
			if err := bounded(hurry, stopLimit, server.Stop); err != nil {
				log.Warn("the private database did not stop by itself", "component", "postgres", "error", err)
			}
		}
	}
	store, err = postgres.New(dsn, postgres.Config{Zone: time.Local, Log: log})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return store, func() {
		if err := store.Close(); err != nil {
			log.Warn("the connections to the database did not close well", "component", "postgres", "error", err)
		}
		stop()
	}, nil
}
