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
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/application/delivery/destination"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/application/record"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/faultinject"
)

// assemble makes the parts of the gateway. It begins to listen on both TCP ports, and the
// new launcher adopts workers of an earlier gateway. It starts no other part.
func (g *gatewayServer) assemble(keys config.Keys, output io.Writer, log *slog.Logger) (err error) {
	c := g.settings
	guard := webhook.NewGuard(c.CallbackAllowedNetworks, nil)
	clock := faultinject.Wrap(faultinject.Ports{Now: time.Now}).Now
	sender := webhook.NewSender(keys.Signing, guard, webhook.Config{Version: version, Now: clock})
	g.lateSupervisor, g.launcher = &lateSupervisor{}, &lateLauncher{}
	ports := faultinject.Wrap(faultinject.Ports{
		SupervisorStore: electionAfterSetup{g.store, g.database}, Launcher: g.launcher, RegistryStore: g.store, Outbox: g.store.Outbox, Sender: sender,
		Destinations: g.store.DestinationOutbox, Webhooks: sender, Messages: messageSenders(c.CallbackAllowedNetworks, clock),
	})
	c.Watching.Export() // previews run the tools in this process
	monitors, err := registry.New(ports.RegistryStore, g.lateSupervisor, guard, sender, registry.Config{
		NewUUID:      func() [16]byte { return uuid.Must(uuid.NewV7()) },
		MaxMonitors:  c.MaxMonitors,
		CreatePerMin: c.RateLimitCreatePerMin,
		QueryPerMin:  c.RateLimitQueryPerMin,
		ScheduleLead: c.ScheduleLeadTime,
		Log:          log,
		Now:          clock,
		Resolver:     newSources(c.Watching, log),
	})
	if err != nil {
		return err
	}
	evidence, sweep, err := g.newEvidence(keys.Links, clock, log)
	if err != nil {
		return err
	}
	destinationSender, err := g.newDestinationSender(ports.Webhooks, ports.Messages, evidence, keys.Links, log)
	if err != nil {
		return err
	}
	destinations, err := routing.NewServices(g.store, routing.Config{NewID: newEventID, Test: destinationSender, Replay: g.store, Subjects: g.store, Now: clock})
	if err != nil {
		return err
	}
	incidents := record.NewIncidentService(g.store)
	thumbnails := record.NewThumbnails(g.store, clock)
	history, expireHistory, err := g.newHistory(clock, log)
	if err != nil {
		return err
	}
	listening, cancel := context.WithCancel(context.Background())
	g.stopListening = cancel
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	expireEvents, err := record.NewExpiry(g.store, c.EventRetention, log)
	if err != nil {
		return err
	}
	var expireFeed supervisor.LeaderTask
	if g.feed, expireFeed, err = g.newFeed(listening, clock, log); err != nil {
		return err
	}
	if err := g.listen(httpapi.Services{Monitors: monitors, Evidence: evidence, History: history, Incidents: incidents, Feed: g.feed, Thumbnails: thumbnails, Routing: destinations, Info: serviceInfo(c)}, keys, log); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.closePorts())
		}
	}()
	g.launcher.launcher, err = g.newLauncher(monitors, evidence, thumbnails, keys, output, log)
	if err != nil {
		return err
	}
	g.supervisor, err = supervisor.New(ports.SupervisorStore, ports.Launcher, supervisor.Config{
		NewEventID:            newEventID,
		MissingWorker:         c.MissingWorkerPolicy(),
		MaxConcurrentLaunches: maxConcurrentLaunches(c),
		ReconcileTimeout:      c.GatewayReconcileTimeout,
		LeaderTasks:           []supervisor.LeaderTask{sweep, expireHistory, expireFeed, sweepIncidents(incidents), {Name: "thumbnails", Every: record.SweepThumbnailsEvery, Run: thumbnails.Sweep}, g.reconcileIncidents(clock, log), {Name: "events", Every: eventsInterval, Run: expireEvents.Run}, {Name: "messages", Every: messagesInterval, Run: g.store.ReplanOpenIncidents}, {Name: "destinations", Every: purgeInterval, Run: g.store.PurgeDestinations}},
		Log:                   log,
		Now:                   clock,
	})
	if err != nil {
		return err
	}
	g.lateSupervisor.Supervisor = g.supervisor
	g.dispatcher, err = callback.New(ports.Outbox, ports.Sender, g.store.Listen(listening), callback.Config{
		MaxInFlight: maxWebhooksInFlight(c.MaxMonitors), Log: log, OnMonitorFailed: g.supervisor.Stop, Evidence: evidence,
	})
	if err != nil {
		return err
	}
	g.destinations, err = destination.New(ports.Destinations, destinationSender, g.store.ListenDeliveries(listening), destination.Config{
		MaxInFlight: routing.MaxDestinations * destination.MaxPerDestination, Now: clock, Log: log,
	})
	return err
}

// listen begins to listen on the TCP ports of the public and the internal API.
func (g *gatewayServer) listen(services httpapi.Services, keys config.Keys, log *slog.Logger) error {
	c := g.settings
	var err error
	if g.dashboard, err = g.newDashboard(); err != nil {
		return err
	}
	g.api, err = httpapi.New(services, g.ready, httpapi.Config{
		APIKey: keys.API, InternalAPIKey: keys.Internal, TrustedProxies: c.TrustedProxies.Strings(), PublicURL: c.PublicURL,
		Dashboard: g.dashboard, LinkKeys: keys.Links, Log: log,
	})
	if err != nil {
		return err
	}
	server := func(name, addr string) httpapi.ServerConfig {
		return httpapi.ServerConfig{Name: name, Addr: addr, CertFile: c.TLSCertFile, KeyFile: c.TLSKeyFile, Log: log}
	}
	if g.internal, err = httpapi.Listen(g.api.Internal(), server("internal", c.InternalListenAddr)); err != nil {
		return config.ExplainListen("INTERNAL_LISTEN_ADDR", c.InternalListenAddr, err)
	}
	if g.public, err = httpapi.Listen(g.api.Public(), server("public", c.ListenAddr)); err != nil {
		return errors.Join(config.ExplainListen("LISTEN_ADDR", c.ListenAddr, err), g.internal.Shutdown(context.Background()))
	}
	return nil
}

// eventsInterval is the pause between two runs that delete expired events and incidents.
const eventsInterval = 10 * time.Minute

// purgeInterval is the pause between two runs that delete what is left of deleted destinations.
const purgeInterval = 10 * time.Second

// messagesInterval is the pause between two looks whether a change of routes or silences
// concerns open incidents.
const messagesInterval = 2 * time.Second

// sweepIncidents is the task that lets time change incidents.
func sweepIncidents(incidents *record.IncidentService) supervisor.LeaderTask {
	return supervisor.LeaderTask{Name: "incidents", Every: record.SweepIncidentsEvery, Run: incidents.Sweep}
}

// reconcileIncidents is the task that ends conditions whose end no worker reports.
func (g *gatewayServer) reconcileIncidents(now func() time.Time, log *slog.Logger) supervisor.LeaderTask {
	reconcile := record.NewIncidentReconcile(g.store, now, log)
	return supervisor.LeaderTask{Name: "incidents without recovery", Every: record.ReconcileIncidentsEvery, Run: reconcile.Run}
}

// lateSupervisor is a supervisor that is set later. The registry needs one, and the
// supervisor needs the internal API, which serves the registry.
type lateSupervisor struct{ *supervisor.Supervisor }

var _ registry.WorkerManager = (*lateSupervisor)(nil)

// maxWebhooksInFlight allows two deliveries for each monitor, and at least 128. A monitor
// has at most one delivery in flight, and one more on the long schedule. So no slow receiver
// delays the webhooks of others.
// The minimum leaves room for the last webhooks of monitors that have ended.
func maxWebhooksInFlight(maxMonitors int) int { return max(128, 2*maxMonitors+1) }
