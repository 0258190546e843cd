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
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/faultinject"
)

// assemble makes the parts of the gateway. It opens the ports and adopts workers
// of an earlier gateway; nothing else runs yet.
func (g *gatewayServer) assemble(keys config.Keys, output io.Writer, log *slog.Logger) (err error) {
	c := g.settings
	guard := webhook.NewGuard(c.CallbackAllowedNetworks, nil)
	clock := faultinject.Wrap(faultinject.Ports{Now: time.Now}).Now
	sender := webhook.NewSender(keys.Signing, guard, webhook.Config{Version: version, Now: clock})
	g.workers, g.runtime = &workerManager{}, &runtime{}
	ports := faultinject.Wrap(faultinject.Ports{
		SupervisorStore: waitingStore{g.store, g.database}, Launcher: g.runtime, RegistryStore: g.store, Outbox: g.store, Sender: sender,
	})
	monitors, err := registry.New(ports.RegistryStore, g.workers, guard, sender, registry.Config{
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
	if err := g.listen(monitors, keys, log); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.closePorts())
		}
	}()
	g.runtime.launcher, err = g.newLauncher(monitors, keys, output, log)
	if err != nil {
		return err
	}
	g.supervisor, err = supervisor.New(ports.SupervisorStore, ports.Launcher, supervisor.Config{
		NewEventID:            newEventID,
		MissingWorker:         c.MissingWorkerPolicy(),
		MaxConcurrentLaunches: maxConcurrentLaunches(c),
		ReconcileTimeout:      c.GatewayReconcileTimeout,
		Log:                   log,
		Now:                   clock,
	})
	if err != nil {
		return err
	}
	g.workers.Supervisor = g.supervisor
	listening, cancel := context.WithCancel(context.Background())
	g.stopListening = cancel
	g.dispatcher, err = delivery.New(ports.Outbox, ports.Sender, g.store.Listen(listening), delivery.Config{
		MaxInFlight: maxWebhooksInFlight(c.MaxMonitors), Log: log, OnMonitorFailed: g.supervisor.Stop,
	})
	if err != nil {
		cancel()
	}
	return err
}

// listen opens both ports.
func (g *gatewayServer) listen(monitors *registry.Service, keys config.Keys, log *slog.Logger) error {
	c := g.settings
	api, err := httpapi.New(monitors, g.ready, httpapi.Config{
		APIKey: keys.API, InternalAPIKey: keys.Internal, TrustedProxies: c.TrustedProxies.Strings(), Log: log,
	})
	if err != nil {
		return err
	}
	server := func(name, addr string) httpapi.ServerConfig {
		return httpapi.ServerConfig{Name: name, Addr: addr, CertFile: c.TLSCertFile, KeyFile: c.TLSKeyFile, Log: log}
	}
	if g.internal, err = httpapi.Listen(api.Internal(), server("internal", c.InternalListenAddr)); err != nil {
		return config.ExplainListen("INTERNAL_LISTEN_ADDR", c.InternalListenAddr, err)
	}
	if g.public, err = httpapi.Listen(api.Public(), server("public", c.ListenAddr)); err != nil {
		return errors.Join(config.ExplainListen("LISTEN_ADDR", c.ListenAddr, err), g.internal.Shutdown(context.Background()))
	}
	return nil
}

// workerManager is the supervisor, which is made after the registry that uses it.
type workerManager struct{ *supervisor.Supervisor }

var _ registry.WorkerManager = (*workerManager)(nil)

// maxWebhooksInFlight allows one delivery for each monitor, and at least 128. One
// monitor has at most one in flight, so no slow receiver delays another's webhooks.
// The minimum leaves room for monitors that have ended.
func maxWebhooksInFlight(maxMonitors int) int { return max(128, maxMonitors+1) }
