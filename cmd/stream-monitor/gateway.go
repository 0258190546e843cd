package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// Time limits of the steps of a shutdown.
const (
	requestsLimit = 30 * time.Second // for requests in progress: the write timeout of httpapi
	releaseLimit  = 5 * time.Second  // for handing the last monitors over
	workersLimit  = 40 * time.Second // for workers: 30 s until SIGKILL (section 8.3), and a margin
)

// gatewayServer holds the parts of serve.
type gatewayServer struct {
	settings   *config.Serve
	log        *slog.Logger
	store      *postgres.Store
	database   *databaseSetup
	workers    *workerManager
	runtime    *runtime
	supervisor *supervisor.Supervisor
	dispatcher *delivery.Dispatcher
	public     *httpapi.Server
	internal   *httpapi.Server

	stopListening context.CancelFunc // ends the notifications of the database
	reconciled    atomic.Bool        // the start's reconciliation has ended
	stopping      atomic.Bool
}

// ready is the readiness check: its error says why the gateway cannot do its work. It
// is an httpapi.StartingOrStopping during a normal start or stop.
func (g *gatewayServer) ready(ctx context.Context) error {
	if g.stopping.Load() {
		return httpapi.StartingOrStopping("the gateway is stopping")
	}
	if err := g.database.checkReady(ctx, g.store.Ping); err != nil {
		return err
	}
	if !g.reconciled.Load() {
		return httpapi.StartingOrStopping("the gateway still compares monitors and workers")
	}
	return nil
}

// run runs the parts until ctx is done or one of them fails, then stops them in the
// reverse order of their dependence. The public API is stopped first; up to
// that moment new registrations still get a worker. Workers come next, while they can still report. The
// dispatcher comes last, when no worker reports any more.
func (g *gatewayServer) run(ctx context.Context, forced forcedShutdown) error {
	var failed error
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	setup := start(g.database.retryUntilDone)
	dispatch := start(g.database.runAfterSetup(g.dispatch))
	internal := start(func(context.Context) { cancel(g.internal.Serve()) })
	supervise := start(g.supervisor.Run)
	public := start(func(context.Context) { cancel(g.public.Serve()) })
	staffing := start(g.keepWorkers)

	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		failed = err
	}
	g.supervisor.BeginShutdown()
	g.stopping.Store(true)
	g.log.Info("the gateway stops")
	if failed == nil {
		g.drain(forced)
	}
	failed = errors.Join(failed, withTimeout(forced, requestsLimit, g.public.Shutdown))
	public.stop()
	setup.stop()
	staffing.stop()
	supervise.stop()
	failed = errors.Join(failed, g.handOver(forced))
	dispatch.cancel() // deliveries in flight end while the rest is stopped
	failed = errors.Join(failed, withTimeout(forced, requestsLimit, g.internal.Shutdown))
	internal.stop()
	dispatch.stop()
	g.stopListening()
	return failed
}

// drain goes on answering requests for DRAIN_TIME after the readiness probe has
// turned, so that no load balancer sends a request to a closed port.
func (g *gatewayServer) drain(forced forcedShutdown) {
	if g.settings.DrainTime == 0 {
		return
	}
	g.public.Drain()
	g.log.Info("requests are still answered until load balancers have noticed the stop", "drain_sec", g.settings.DrainTime.Seconds())
	select {
	case <-time.After(g.settings.DrainTime):
	case <-forced.Done():
	}
}

// handOver stops the workers and hands each monitor over once its worker has ended.
// Pods go on running, and keep their monitors.
func (g *gatewayServer) handOver(forced forcedShutdown) error {
	releasing, cancel := context.WithCancel(forced)
	defer cancel()
	released := make(chan error, 1)
	go func() { released <- g.supervisor.Release(releasing) }()
	err := withTimeout(forced, workersLimit, g.runtime.Close)
	defer time.AfterFunc(releaseLimit, cancel).Stop()
	return errors.Join(err, <-released)
}

// dispatch delivers webhooks. It begins with those that an earlier gateway on this
// machine was sending when it died.
func (g *gatewayServer) dispatch(ctx context.Context) {
	if r := g.runtime.Runtime(); !r.Shared {
		if err := g.store.TakeOverLeases(ctx, r.ID); err != nil {
			g.log.Warn("webhooks that an earlier gateway was sending wait for the end of its leases", "error", err)
		}
	}
	g.dispatcher.Run(ctx)
}

// keepWorkers ensures that every active monitor has its worker (section 10.4,
// decisions A10, O3 and O5). The time limit of the reconciliation counts from the
// start, with or without a database.
func (g *gatewayServer) keepWorkers(ctx context.Context) {
	promotion := start(g.database.runAfterSetup(g.supervisor.Promote))
	defer promotion.stop()
	monitors, known := g.supervisor.Reconcile(ctx)
	g.reconciled.Store(true)
	g.database.runAfterSetup(func(ctx context.Context) {
		g.logReady(ctx, monitors, known)
		g.supervisor.Watch(ctx)
	})(ctx)
}

// logReady ends the start with one line: where the gateway listens, and how many
// monitors are active, if the reconciliation could read that.
func (g *gatewayServer) logReady(ctx context.Context, monitors int, known bool) {
	if ctx.Err() != nil {
		return
	}
	attrs := []any{"public_addr", g.public.Addr().String(), "internal_addr", g.internal.Addr().String()}
	if known {
		attrs = append(attrs, "monitors", monitors)
	}
	g.log.Info("the gateway is ready", attrs...)
}

func (g *gatewayServer) closePorts() error {
	return errors.Join(g.public.Shutdown(context.Background()), g.internal.Shutdown(context.Background()))
}
