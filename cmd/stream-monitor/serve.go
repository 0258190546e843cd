package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/adapters/secretbox"
	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// serve runs the gateway until ctx is done or a part of it fails.
func serve(ctx context.Context, forced forcedShutdown, c *config.Serve, out console) error {
	ignoreBrokenPipe()
	output := &lockedWriter{w: out.err}
	constructor, workerOutput := logging.New, io.Writer(output)
	text := c.LogFormat == "text" || c.LogFormat == "auto" && logging.IsTerminal(output)
	if text {
		constructor, workerOutput = logging.NewServiceText, logging.NewServiceRelay(output, time.Local)
	}
	log, err := newLog(constructor, output, c.Log.LogLevel)
	if err != nil {
		return err
	}
	g := &gatewayServer{settings: c, log: log.With("component", "gateway")}
	if text {
		g.person = output
	}
	return logged(g.log, g.serve(ctx, forced, workerOutput, log))
}

// serve starts the parts in the order of their dependence: first the database,
// which is also stopped last. It starts the other parts even while the database
// cannot be reached.
func (g *gatewayServer) serve(ctx context.Context, forced forcedShutdown, output io.Writer, log *slog.Logger) error {
	if err := prepareTools(g.settings.Watching); err != nil {
		return err
	}
	for _, m := range config.Misspellings(os.Environ()) {
		g.log.Warn("an environment variable resembles a setting but is none, it is ignored: correct its name if the setting was meant", "variable", m.Set, "similar_setting", m.Setting)
	}
	if g.settings.WorkerRuntime != config.RuntimeKubernetes {
		warnOfMissingConfinement(g.settings.Watching, g.log)
	}
	keys, err := loadKeys(g.settings, g.log)
	if err != nil {
		return err
	}
	secrets, err := secretbox.New(keys.Secrets)
	if err != nil {
		return err
	}
	store, closeStore, err := openDatabase(ctx, forced, g.settings.Database, secrets, g.settings.Opinion.Power(), log)
	if err != nil {
		return err
	}
	defer closeStore()
	g.store, g.sessionKeys = store, keyring.NewSessionKeys(store, newSessionKey)
	g.database = newDatabaseSetup(store, g.sessionKeys, g.log)
	if err := g.database.tryOnce(ctx); err != nil {
		return asUsageError(err)
	}
	g.resolving = newResolvingTools(g.settings.Watching, log)
	if g.settings.WorkerRuntime == config.RuntimeInline {
		g.resolving.forks = ytdlp.NewForkServer(g.settings.Watching.YTDLP().Path, g.settings.Watching.ReadableFiles(), log)
		defer g.resolving.forks.Close()
		g.resolving.host = fallback.NewHost(fallback.Places(), log)
		g.decoders = newDecoderPool(g.settings.Watching, 0, log)
		defer g.decoders.Close()
	}
	if err := g.assemble(keys, output, log); err != nil {
		return err
	}
	return g.run(ctx, forced)
}

// loadKeys completes the configured keys with generated ones (decision P4).
func loadKeys(c *config.Serve, log *slog.Logger) (config.Keys, error) {
	dir := c.Database.DataDir
	keys, generated, err := config.LoadKeys(dir, c.Keys)
	if err != nil {
		return keys, err
	}
	if generated {
		log.Info("API keys were generated", "file", config.KeysPath(dir))
	}
	if keys.API == keys.Internal { // possible if the operator sets one key to the generated value of the other
		return keys, &config.UsageError{Problems: []string{config.SameKeys}}
	}
	return keys, nil
}
