package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// assemble makes the parts; nothing runs yet but the ports' listeners, and the
// workers that outlived an earlier gateway.
func (c *ServeCmd) assemble(g *service, keys Keys, output io.Writer, log *slog.Logger) (err error) {
	guard := webhook.NewGuard(c.CallbackAllowedNetworks, nil)
	clock := tamper(parts{Now: time.Now}).Now
	sender := webhook.NewSender(keys.Signing, guard, webhook.Config{Version: version, Now: clock})
	g.crew, g.runtime = &crew{}, &runtime{}
	p := tamper(parts{Roster: patientRoster{g.store, g.database}, Launcher: g.runtime, Store: g.store, Outbox: g.store, Sender: sender})
	desk, err := registry.New(p.Store, g.crew, guard, sender, registry.Config{
		NewUUID:      func() [16]byte { return uuid.Must(uuid.NewV7()) },
		MaxMonitors:  c.MaxMonitors,
		CreatePerMin: c.RateLimitCreatePerMin,
		QueryPerMin:  c.RateLimitQueryPerMin,
		ScheduleLead: c.ScheduleLeadTime,
		Log:          log,
		Now:          clock,
	})
	if err != nil {
		return err
	}
	if err := c.listen(g, desk, keys, log); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.closePorts())
		}
	}()
	g.runtime.launcher, err = c.launcher(g, desk, keys, output, log)
	if err != nil {
		return err
	}
	g.supervisor, err = supervisor.New(p.Roster, p.Launcher, supervisor.Config{
		NewEventID:            newEventID,
		MissingWorker:         c.missing(),
		MaxConcurrentLaunches: c.launches(),
		ReconcileTimeout:      c.GatewayReconcileTimeout,
		Log:                   log,
		Now:                   clock,
	})
	if err != nil {
		return err
	}
	g.crew.Supervisor = g.supervisor
	wakes, cancel := context.WithCancel(context.Background())
	g.listening = cancel
	g.dispatcher, err = delivery.New(p.Outbox, p.Sender, g.store.Listen(wakes), delivery.Config{
		MaxInFlight: couriers(c.MaxMonitors), Log: log, OnMonitorFailed: g.supervisor.Stop,
	})
	if err != nil {
		cancel()
	}
	return err
}

// listen opens the ports.
func (c *ServeCmd) listen(g *service, desk *registry.Service, keys Keys, log *slog.Logger) error {
	api, err := httpapi.New(desk, g.ready, httpapi.Config{
		APIKey: keys.API, InternalAPIKey: keys.Internal, TrustedProxies: c.TrustedProxies.Strings(), Log: log,
	})
	if err != nil {
		return err
	}
	open := func(name, addr string) httpapi.ServerConfig {
		return httpapi.ServerConfig{Name: name, Addr: addr, CertFile: c.TLSCertFile, KeyFile: c.TLSKeyFile, Log: log}
	}
	if g.internal, err = httpapi.Listen(api.Internal(), open("internal", c.InternalListenAddr)); err != nil {
		return err
	}
	if g.public, err = httpapi.Listen(api.Public(), open("public", c.ListenAddr)); err != nil {
		return errors.Join(err, g.internal.Shutdown(context.Background()))
	}
	return nil
}

// crew is the supervisor, which can only be made after the service it serves.
type crew struct{ *supervisor.Supervisor }

var _ registry.Crew = (*crew)(nil)

// couriers is how many webhooks may be on their way at once. No monitor has two,
// so with one more than there are monitors no receiver delays another's; with
// few monitors there is room for those of monitors that have ended.
func couriers(monitors int) int { return max(128, monitors+1) }
