package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// migrate brings the database to the schema of this version.
func migrate(ctx context.Context, forced forcedShutdown, c *config.Migrate, out console) error {
	log, err := newLog(logging.New, out.err, c.Log.LogLevel)
	if err != nil {
		return err
	}
	if err := migrateDatabase(ctx, forced, c.Database, log); err != nil {
		return logged(log.With("component", "migrate"), err)
	}
	_, err = fmt.Fprintln(out.out, "the database is up to date")
	return err
}

func migrateDatabase(ctx context.Context, forced forcedShutdown, f config.DatabaseFlags, log *slog.Logger) error {
	store, closeStore, err := openDatabase(ctx, forced, f, nil, "", log)
	if err != nil {
		return err
	}
	defer closeStore()
	return asUsageError(connectAndMigrate(ctx, store))
}
