package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/probe"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/application/hints"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/application/incidents"
	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/application/intake"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/opinions"
	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/faultinject"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// assembly holds what the parts of a gateway share while they are made.
type assembly struct {
	*gatewayServer
	keys  config.Keys
	log   *slog.Logger
	clock func() time.Time
	ports faultinject.Ports

	monitors   *monitors.Services
	jars       *cookiejars.Service
	workers    *intake.WorkerService
	evidence   *evidences.Service
	thumbnails *evidences.Thumbnails
	deliveries *delivery.Sender
	services   httpapi.Services
	tasks      []supervisor.LeaderTask
}

// assemble makes the parts of the gateway. It begins to listen on both TCP ports, and on
// Kubernetes the launcher finds the workers of an earlier gateway. It starts no other part.
func (g *gatewayServer) assemble(keys config.Keys, output io.Writer, log *slog.Logger) (err error) {
	a := &assembly{gatewayServer: g, keys: keys, log: log}
	listening, cancel := context.WithCancel(context.Background())
	g.stopListening = cancel
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	if err := a.makeMonitors(); err != nil {
		return err
	}
	if err := a.makeServices(listening); err != nil {
		return err
	}
	if err := a.listen(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.closePorts())
		}
	}()
	if g.launcher.launcher, err = a.newLauncher(output); err != nil {
		return err
	}
	if err := a.makeSupervisor(); err != nil {
		return err
	}
	a.makeAsker()
	return a.makeDispatcher(listening)
}

// makeMonitors makes what answers callers and workers, and the ports of the parts after it.
func (a *assembly) makeMonitors() (err error) {
	c := a.settings
	a.clock = faultinject.Wrap(faultinject.Ports{Now: time.Now}).Now
	guard := webhook.NewGuard(c.CallbackAllowedNetworks, nil)
	sender := webhook.NewSender(a.keys.Signing, guard, webhook.Config{Version: version, Now: a.clock})
	a.lateSupervisor, a.launcher = &lateSupervisor{}, &lateLauncher{}
	a.jars = cookiejars.NewService(a.store, newEventID, a.clock, a.log)
	a.ports = faultinject.Wrap(faultinject.Ports{
		SupervisorStore: electionAfterSetup{a.store, a.database}, Launcher: a.launcher, MonitorStore: a.store, Outbox: a.store.Outbox,
		Webhooks: sender, Messages: messageSenders(c.CallbackAllowedNetworks, a.clock),
	})
	c.Watching.Export() // previews run the tools in this process
	a.monitors, err = monitors.NewServices(a.ports.MonitorStore, a.lateSupervisor, guard, sender, monitors.Config{
		NewUUID:      func() [16]byte { return uuid.Must(uuid.NewV7()) },
		MaxMonitors:  c.MaxMonitors,
		CreatePerMin: c.RateLimitCreatePerMin,
		QueryPerMin:  c.RateLimitQueryPerMin,
		ScheduleLead: c.ScheduleLeadTime,
		Log:          a.log,
		Now:          a.clock,
		Resolver:     a.resolving.sources(c.Watching, a.log),
		CookieJars:   lentJars{a.jars},
		WithSecret:   request.WithSecret,
	})
	a.workers = intake.NewWorkerService(a.ports.MonitorStore, a.jars, a.lateSupervisor, a.clock, a.log)
	return err
}

// makeServices makes what the API serves, and the tasks of the leader. The feed follows
// the database until ctx is done.
func (a *assembly) makeServices(ctx context.Context) (err error) {
	var sweepEvidence, expireHistory, expireFeed supervisor.LeaderTask
	if a.evidence, sweepEvidence, err = a.newEvidence(); err != nil {
		return err
	}
	if a.deliveries, err = a.newDeliverySender(); err != nil {
		return err
	}
	destinations, err := routing.NewServices(a.store, routing.Config{NewID: newEventID, Test: a.deliveries, Replay: a.store, Subjects: a.store, Now: a.clock})
	if err != nil {
		return err
	}
	history, expireHistory := a.newHistory()
	expireEvents := histories.NewMonitorExpiry(a.store, a.settings.EventRetention, a.log)
	if a.feed, expireFeed, err = a.newFeed(ctx); err != nil {
		return err
	}
	keys, err := keyring.New(a.store, keyring.Config{NewID: newEventID, NewSecret: newAPIKey, Now: a.clock, Log: a.log})
	if err != nil {
		return err
	}
	audit := keyring.NewAudit(a.store, a.settings.EventRetention, a.log)
	incidentService := incidents.NewService(a.store)
	a.thumbnails = evidences.NewThumbnails(a.store, a.clock)
	askYouTubeAPI, err := a.newYouTubeAPITasks()
	if err != nil {
		return err
	}
	pushed := a.newPushes()
	askTwitchAPI, broadcasts := a.newTwitchAPITasks(pushed)
	channelService, findChannels := a.newChannels(audit, broadcasts)
	a.services = httpapi.Services{
		Monitors: a.monitors, Workers: a.workers, Evidence: a.evidence, History: history, Incidents: incidentService, Feed: a.feed,
		Thumbnails: a.thumbnails, References: references.NewService(a.store, newEventID, a.clock), CookieJars: a.jars, IngestLogins: ingests.NewLogins(a.store, newEventID, a.clock), Routing: destinations, Info: a.serviceInfo(), Keys: keys, Audit: audit, SessionKeys: a.sessionKeys, Channels: channelService, Pushes: pushed,
	}
	a.tasks = []supervisor.LeaderTask{
		sweepEvidence, expireHistory, expireFeed,
		{Name: "incidents", Every: incidents.SweepEvery, Run: incidentService.Sweep},
		{Name: "incidents without recovery", Every: incidents.ReconcileEvery, Run: incidents.NewReconcile(a.store, a.clock, a.log).Run},
		{Name: "hints", Every: hints.Every, Run: hints.NewService(a.store, a.clock).Run},
		{Name: "parked records", Every: retryRecordsInterval, Run: a.store.RetryRecords},
		{Name: "thumbnails", Every: evidences.SweepThumbnailsEvery, Run: a.thumbnails.Sweep},
		{Name: "events", Every: eventsInterval, Run: expireEvents.Run},
		{Name: "audit list", Every: eventsInterval, Run: audit.Expire},
		{Name: "destinations", Every: purgeInterval, Run: a.store.PurgeDestinations},
	}
	a.tasks = slices.Concat(a.tasks, findChannels, askYouTubeAPI, askTwitchAPI)
	return nil
}

// makeSupervisor makes the supervisor, for which what answers callers and workers has waited.
func (a *assembly) makeSupervisor() (err error) {
	c := a.settings
	a.supervisor, err = supervisor.New(a.ports.SupervisorStore, a.ports.Launcher, supervisor.Config{
		NewEventID:            newEventID,
		MissingWorker:         c.MissingWorkerPolicy(),
		MaxConcurrentLaunches: maxConcurrentLaunches(c),
		ReconcileTimeout:      c.GatewayReconcileTimeout,
		LeaderTasks:           a.tasks,
		Log:                   a.log,
		Now:                   a.clock,
	})
	if err == nil {
		a.lateSupervisor.Supervisor = a.supervisor
	}
	return err
}

// makeAsker makes what asks for second opinions about alerts, if they are wanted. It connects where webhooks may.
func (a *assembly) makeAsker() {
	c := a.settings.Opinion
	if c.SecondOpinionURL == "" {
		return
	}
	a.adviser = newAdviser(c, a.settings.CallbackAllowedNetworks, a.clock)
	a.asker = opinions.NewAsker(a.store, a.evidence, a.adviser, c.SecondOpinionCooldown, a.log)
}

// newAdviser makes the client of the endpoint that is asked for second opinions.
func newAdviser(f config.OpinionFlags, allowed config.Networks, now func() time.Time) *webhook.Adviser {
	return webhook.NewAdviser(f.SecondOpinionURL, f.SecondOpinionKey, webhook.NewGuard(allowed, nil), webhook.Config{Version: version, Now: now})
}

// makeDispatcher makes the dispatcher of all deliveries. The database notifies it until ctx is
// done.
func (a *assembly) makeDispatcher(ctx context.Context) (err error) {
	a.dispatcher, err = delivery.New(a.ports.Outbox, a.deliveries, a.store.Listen(ctx), delivery.Config{
		MaxInFlight: maxInFlight(a.settings.MaxMonitors), Now: a.clock, Log: a.log, OnMonitorFailed: a.supervisor.Stop,
	})
	return err
}

// listen begins to listen on the TCP ports of the public and the internal API, and of the probes.
func (a *assembly) listen() error {
	c := a.settings
	var err error
	if a.dashboard, err = newDashboard(c); err != nil {
		return err
	}
	a.api, err = httpapi.New(a.services, a.ready, httpapi.Config{
		APIKey: a.keys.API, InternalAPIKey: a.keys.Internal, TrustedProxies: c.TrustedProxies.Strings(), PublicURL: c.PublicURL,
		Dashboard: a.dashboard, LinkKeys: a.keys.Links, IngestEnabled: c.YouTube.OAuthClientID != "", Stopping: a.stopping.Load, Log: a.log,
	})
	if err != nil {
		return err
	}
	openFiles := config.OpenFiles()
	connections, wanted := config.MaxConnections(openFiles, c.MaxMonitors, httpapi.MaxConnections)
	if connections < httpapi.MaxConnections {
		a.gatewayServer.log.Warn("this process may open few files, so each port has fewer connections than usual: raise the limit of open files (ulimit -n, LimitNOFILE of systemd)",
			"open_files", openFiles, "wanted", wanted, "connections", connections)
	}
	server := func(name, addr string) httpapi.ServerConfig {
		return httpapi.ServerConfig{Name: name, Addr: addr, CertFile: c.TLSCertFile, KeyFile: c.TLSKeyFile, Log: a.log, MaxConnections: connections}
	}
	if a.internal, err = httpapi.Listen(a.api.Internal(), server("internal", c.InternalListenAddr)); err != nil {
		return config.ExplainListen("INTERNAL_LISTEN_ADDR", c.InternalListenAddr, err)
	}
	public := server("public", c.ListenAddr)
	public.MaxIdle, public.TrustedProxies = httpapi.MaxIdlePerAddress, c.TrustedProxies
	if a.public, err = httpapi.Listen(a.api.Public(), public); err != nil {
		return errors.Join(config.ExplainListen("LISTEN_ADDR", c.ListenAddr, err), a.internal.Shutdown(context.Background()))
	}
	if c.ProbeListenAddr == "" {
		return nil
	}
	alive := func(context.Context) error { return nil } // the answer itself shows it
	if a.probes, err = probe.Listen(c.ProbeListenAddr, alive, a.api.Ready, a.log); err != nil {
		return errors.Join(config.ExplainListen("PROBE_LISTEN_ADDR", c.ProbeListenAddr, err), a.closePorts())
	}
	return nil
}

// newAPIKey returns the secret of a new key of a person: 256 random bits, behind letters by
// which a leaked one is recognized.
func newAPIKey() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails: it ends the program instead
	return "smk_" + hex.EncodeToString(secret)
}

func newSessionKey() (key keyring.SessionKey) {
	_, _ = rand.Read(key[:]) // never fails: it ends the program instead
	return key
}

// eventsInterval is the pause between two runs that delete expired events, incidents and
// entries of the audit list.
const eventsInterval = 10 * time.Minute

// purgeInterval is the pause between two runs that delete what is left of deleted destinations.
const purgeInterval = 10 * time.Second

// lentJars lends cookie jars to the questions of previews.
type lentJars struct{ *cookiejars.Service }

var _ monitors.CookieJars = lentJars{}

// With implements monitors.CookieJars.
func (j lentJars) With(ctx context.Context, name string, stream monitor.StreamURL) (context.Context, error) {
	loan, err := j.Lend(ctx, name, stream)
	if loan == nil {
		return ctx, err
	}
	return request.WithCookies(ctx, loan), nil
}

// lateSupervisor is a supervisor that is set later. What answers callers and workers needs one,
// and the supervisor needs the internal API, which asks it.
type lateSupervisor struct{ *supervisor.Supervisor }

var (
	_ monitors.WorkerManager = (*lateSupervisor)(nil)
	_ intake.LeaseRenewer    = (*lateSupervisor)(nil)
)

// maxInFlight allows two deliveries for each monitor, and at least 128. A monitor has at most one
// in flight to its callback, and one more that has left the queue. The minimum leaves room for the
// last webhooks of monitors that have ended. With those of every destination, no slow receiver
// delays another one.
func maxInFlight(maxMonitors int) int {
	return max(128, 2*maxMonitors+1) + routing.MaxDestinations*notify.MaxPerDestination
}

// retryRecordsInterval is the pause between two attempts to store the records of parked monitors.
const retryRecordsInterval = time.Hour
