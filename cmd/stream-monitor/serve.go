package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/logging"
)

// Run is the gateway, from its configuration to its end.
func (c *ServeCmd) Run(ctx context.Context, hurry haste, out console) error {
	outliveReaders()
	output := &lineWriter{w: out.err}
	log, err := logging.New(output, c.Log.LogLevel, time.Local)
	if err != nil {
		return err
	}
	g := &service{log: log.With("component", "gateway"), drainTime: c.DrainTime}
	return logged(g.log, c.serve(ctx, hurry, g, output, log))
}

// serve starts the parts in the order of their dependence, the database first,
// which also ends last. One that is away is no obstacle.
func (c *ServeCmd) serve(ctx context.Context, hurry haste, g *service, output io.Writer, log *slog.Logger) error {
	keys, err := c.keys(log)
	if err != nil {
		return err
	}
	store, closeStore, err := c.Database.open(ctx, hurry, log)
	if err != nil {
		return err
	}
	defer closeStore()
	g.store, g.database = store, newPreparation(store, g.log)
	if err := g.database.begin(ctx); err != nil {
		return err
	}
	if err := c.assemble(g, keys, output, log); err != nil {
		return err
	}
	return g.run(ctx, hurry)
}

// keys are those of the configuration, completed with generated ones.
func (c *ServeCmd) keys(log *slog.Logger) (Keys, error) {
	keys, generated, err := loadKeys(c.Database.DataDir, c.Keys)
	if err != nil {
		return keys, err
	}
	if generated {
		log.Info("API keys were generated", "component", "gateway", "file", keysPath(c.Database.DataDir))
	}
	if keys.API == keys.Internal { // one given, the other one kept
		return keys, &usageError{[]string{sameKeys}}
	}
	return keys, nil
}
