package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/adapters/process"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/control"
	"github.com/stream-monitor/stream-monitor/application/deliver"
	"github.com/stream-monitor/stream-monitor/application/supervise"
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
// which also ends last.
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
	if err := store.Migrate(ctx); err != nil {
		return err
	}
	g.store = store
	if err := g.assemble(c, keys, output, log); err != nil {
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

// assemble makes the parts; nothing runs yet but the ports' listeners.
func (g *service) assemble(c *ServeCmd, keys Keys, output io.Writer, log *slog.Logger) (err error) {
	guard := webhook.NewGuard(c.CallbackAllowedNetworks, nil)
	sender := webhook.NewSender(keys.Signing, guard, webhook.Config{Version: version})
	crew := &crew{}
	desk, err := control.New(g.store, crew, guard, sender, control.Config{
		NewUUID:      func() [16]byte { return uuid.Must(uuid.NewV7()) },
		MaxMonitors:  c.MaxMonitors,
		CreatePerMin: c.RateLimitCreatePerMin,
		QueryPerMin:  c.RateLimitQueryPerMin,
		ScheduleLead: c.ScheduleLeadTime,
		Log:          log,
	})
	if err != nil {
		return err
	}
	api, err := httpapi.New(desk, g.ready, httpapi.Config{
		APIKey: keys.API, InternalAPIKey: keys.Internal, TrustedProxies: c.TrustedProxies.Strings(), Log: log,
	})
	if err != nil {
		return err
	}
	listen := func(name, addr string) httpapi.ServerConfig {
		return httpapi.ServerConfig{Name: name, Addr: addr, CertFile: c.TLSCertFile, KeyFile: c.TLSKeyFile, Log: log}
	}
	if g.internal, err = httpapi.Listen(api.Internal(), listen("internal", c.InternalListenAddr)); err != nil {
		return err
	}
	if g.public, err = httpapi.Listen(api.Public(), listen("public", c.ListenAddr)); err != nil {
		return errors.Join(err, g.internal.Shutdown(context.Background()))
	}
	here, err := c.workersURL(g.internal.Addr())
	if err != nil {
		return errors.Join(err, g.closePorts())
	}
	g.launcher, err = process.New(process.Config{
		GatewayURL: here, GatewayCA: c.TLSCertFile, InternalKey: keys.Internal, LogLevel: c.Log.LogLevel,
		Environ: append(os.Environ(), c.Watching.variables()...), Output: output, Log: log,
	})
	if err != nil {
		return errors.Join(err, g.closePorts())
	}
	g.supervisor, err = supervise.New(g.store, g.launcher, supervise.Config{NewEventID: newEventID, Log: log})
	if err != nil {
		return errors.Join(err, g.closePorts())
	}
	crew.Supervisor = g.supervisor
	wakes, cancel := context.WithCancel(context.Background())
	g.listening = cancel
	g.dispatcher, err = deliver.New(g.store, sender, g.store.Listen(wakes), deliver.Config{
		Workers: couriers(c.MaxMonitors), Log: log, OnEnded: g.supervisor.Stop,
	})
	if err != nil {
		cancel()
		return errors.Join(err, g.closePorts())
	}
	return nil
}

// crew is the supervisor, which can only be made after the service it serves.
type crew struct{ *supervise.Supervisor }

var _ control.Crew = (*crew)(nil)

// couriers is how many webhooks may be on their way at once. No monitor has two,
// so with one more than there are monitors no receiver delays another's; with
// few monitors there is room for those of monitors that have ended.
func couriers(monitors int) int { return max(128, monitors+1) }
