package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/httpapi/ui"
	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/probe"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	feeds "github.com/stream-monitor/stream-monitor/application/feed"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/opinions"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// Time limits of the steps of a shutdown.
const (
	requestsLimit = 30 * time.Second // for requests in progress: the write timeout of httpapi
	releaseLimit  = 5 * time.Second  // for releasing the remaining monitors after the workers have ended
	workersLimit  = 40 * time.Second // for workers: 30 s until SIGKILL (section 8.3), and a margin
)

// gatewayServer holds the parts of serve.
type gatewayServer struct {
	settings       *config.Serve
	log            *slog.Logger
	store          *postgres.Store
	database       *databaseSetup
	sessionKeys    *keyring.SessionKeys
	lateSupervisor *lateSupervisor
	launcher       *lateLauncher
	resolving      resolvingTools      // of previews, and of inline workers
	decoders       *decoder.Pool       // of inline workers; nil: ffmpeg decodes every segment
	inlineDelays   *worker.CheckDelays // of the inline workers' checks
	supervisor     *supervisor.Supervisor
	dispatcher     *delivery.Dispatcher
	asker          *opinions.Asker  // nil: nobody is asked for second opinions
	adviser        *webhook.Adviser // of asker
	feed           *feeds.Feed
	api            *httpapi.API
	dashboard      *ui.Dashboard // nil: UI=off
	person         io.Writer     // reads lines instead of JSON; nil: nobody does
	public         *httpapi.Server
	internal       *httpapi.Server
	probes         *probe.Server // nil: there is no PROBE_LISTEN_ADDR

	stopListening context.CancelFunc // ends the notifications of the database
	reconciled    atomic.Bool        // the start's reconciliation has ended
	stopping      atomic.Bool
}

// ready is the readiness check. Its error says why the gateway cannot do its work. During
// a normal start or stop the error is an httpapi.StartingOrStopping.
func (g *gatewayServer) ready(ctx context.Context) error {
	if g.stopping.Load() {
		return httpapi.StartingOrStopping("the gateway is stopping")
	}
	if err := g.database.checkReady(ctx, g.store.CheckWrites); err != nil {
		return err
	}
	if !g.reconciled.Load() {
		return httpapi.StartingOrStopping("the gateway still compares monitors and workers")
	}
	return nil
}

// run runs the parts until ctx is done or one of them fails, then stops them in this
// order. The public API stops first; new registrations get a worker until then. The
// workers stop next and can still report to the internal API, which stops after them. The
// dispatcher ends last, but begins no delivery after the workers have stopped.
func (g *gatewayServer) run(ctx context.Context, forced forcedShutdown) error {
	var failed error
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	setupRun := start(g.database.retryUntilDone)
	deliveryRun := start(g.database.runAfterSetup(g.deliver))
	opinionRun := start(g.database.runAfterSetup(g.askForOpinions))
	internalRun := start(func(context.Context) { cancel(g.internal.Serve()) })
	supervisorRun := start(g.supervisor.Run)
	publicRun := start(func(context.Context) { cancel(g.public.Serve()) })
	feedRun := start(g.database.runAfterSetup(g.feed.Run))
	membershipRun := start(g.database.runAfterSetup(g.supervisor.Join))
	startRun := start(g.awaitStart)
	systemd := systemdNotifier{ready: g.ready, alive: g.supervisor.Alive, log: g.log}
	defer start(systemd.run).stop()

	<-ctx.Done()
	systemd.notify(daemon.SdNotifyStopping)
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		failed = err
	}
	g.supervisor.BeginShutdown()
	g.stopping.Store(true)
	membershipRun.stop() // from now on this gateway takes over no monitor of another
	g.log.Info("the gateway stops")
	if failed == nil {
		g.awaitLoadBalancers(forced)
	}
	feedRun.stop() // its readers leave; the public API would wait for them
	failed = errors.Join(failed, withTimeout(forced, requestsLimit, g.public.Shutdown))
	publicRun.stop()
	setupRun.stop()
	startRun.stop()
	supervisorRun.stop()
	failed = errors.Join(failed, g.handOver(forced))
	deliveryRun.cancel() // deliveries and questions in flight end while the internal API stops
	opinionRun.cancel()
	failed = errors.Join(failed, withTimeout(forced, requestsLimit, g.internal.Shutdown))
	internalRun.stop()
	deliveryRun.stop()
	opinionRun.stop()
	g.stopListening()
	g.closeProbes()
	return failed
}

// awaitLoadBalancers keeps the public API open for DRAIN_TIME after the readiness probe has
// begun to fail. So no load balancer sends a request to a closed port.
func (g *gatewayServer) awaitLoadBalancers(forced forcedShutdown) {
	if g.settings.DrainTime == 0 {
		return
	}
	g.public.Drain()
	g.log.Info("the gateway answers requests until load balancers have noticed that it stops", "drain_sec", g.settings.DrainTime.Seconds())
	select {
	case <-time.After(g.settings.DrainTime):
	case <-forced.Done():
	}
}

// handOver stops worker processes and inline workers. It releases each monitor when its
// worker has ended. Worker pods continue to run and keep their monitors.
func (g *gatewayServer) handOver(forced forcedShutdown) error {
	releasing, cancel := context.WithCancel(forced)
	defer cancel()
	released := make(chan error, 1)
	go func() { released <- g.supervisor.Release(releasing) }()
	err := withTimeout(forced, workersLimit, g.launcher.Close)
	g.inlineDelays.Close()
	defer time.AfterFunc(releaseLimit, cancel).Stop()
	return errors.Join(err, <-released)
}

// deliver sends webhooks and messages until ctx is done. First it takes over the leases of
// a gateway on this machine that died while it was sending.
func (g *gatewayServer) deliver(ctx context.Context) {
	if r := g.launcher.Runtime(); !r.Shared {
		if err := g.store.TakeOverLeases(ctx, r.ID); err != nil {
			g.log.Warn("cannot take over the webhooks of an earlier gateway, they wait until its leases expire", "error", err)
		}
	}
	g.dispatcher.Run(ctx)
}

// askForOpinions asks about alerts until ctx is done, if anybody is to be asked.
func (g *gatewayServer) askForOpinions(ctx context.Context) {
	if g.asker != nil {
		g.asker.Run(ctx)
		g.adviser.Close()
	}
}

// awaitStart waits until monitors and workers have been brought together (section 10.4), and
// until the database is set up. The time limit of the first includes the wait for the database.
func (g *gatewayServer) awaitStart(ctx context.Context) {
	monitors, known := g.supervisor.AwaitStart(ctx)
	g.reconciled.Store(true)
	g.database.runAfterSetup(func(ctx context.Context) { g.logReady(ctx, monitors, known) })(ctx)
}

// logReady logs that the start is complete, with the addresses of the gateway. If the
// reconciliation has read the monitors, it also logs how many are active.
func (g *gatewayServer) logReady(ctx context.Context, monitors int, known bool) {
	if ctx.Err() != nil {
		return
	}
	attrs := []any{"public_addr", g.public.Addr().String(), "internal_addr", g.internal.Addr().String()}
	if known {
		attrs = append(attrs, "monitors", monitors)
	}
	g.log.Info("the gateway is ready", attrs...)
	g.showDashboard()
}

func (g *gatewayServer) closePorts() error {
	g.closeProbes()
	return errors.Join(g.public.Shutdown(context.Background()), g.internal.Shutdown(context.Background()))
}

func (g *gatewayServer) closeProbes() {
	if g.probes != nil {
		_ = g.probes.Close() // the process ends
	}
}
