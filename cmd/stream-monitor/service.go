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
)

// Bounds on the steps of a shutdown.
const (
	requestsLimit = 30 * time.Second // for requests under way: as long as httpapi has to write an answer
	releaseLimit  = 5 * time.Second  // for giving the last of their monitors back
	workersLimit  = 40 * time.Second // for workers: 30 s until SIGKILL (section 8.3), and a margin
)

// service is the parts of serve.
type service struct {
	log        *slog.Logger
	store      *postgres.Store
	database   *preparation
	crew       *crew
	runtime    *runtime
	supervisor *supervisor.Supervisor
	dispatcher *delivery.Dispatcher
	public     *httpapi.Server
	internal   *httpapi.Server

	drainTime  time.Duration      // between the turn of the readiness probe and the last new request
	listening  context.CancelFunc // ends the database's wake-up calls
	reconciled atomic.Bool        // or given up, for the moment
	stopping   atomic.Bool
}

// ready tells whether the gateway can do its work.
func (g *service) ready(ctx context.Context) error {
	if g.stopping.Load() {
		return errors.New("the gateway is stopping")
	}
	if err := g.database.ready(ctx, g.store.Ping); err != nil {
		return err
	}
	if !g.reconciled.Load() {
		return errors.New("monitors and workers are being compared")
	}
	return nil
}

// run runs the parts until ctx is done or one of them fails. They are stopped
// in the reverse order of their dependence: callers first, who get a worker for
// what they register until then; workers while they can still report; the
// dispatcher when no worker reports any more.
func (g *service) run(ctx context.Context, hurry haste) error {
	var failed error
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	prepare := start(g.database.run)
	dispatch := start(g.database.before(g.dispatch))
	internal := start(func(context.Context) { cancel(g.internal.Serve()) })
	supervise := start(g.supervisor.Run)
	public := start(func(context.Context) { cancel(g.public.Serve()) })
	staff := start(g.staff)

	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		failed = err
	}
	g.supervisor.BeginShutdown()
	g.stopping.Store(true)
	g.log.Info("the gateway stops")
	if failed == nil {
		g.drain(hurry)
	}
	failed = errors.Join(failed, bounded(hurry, requestsLimit, g.public.Shutdown))
	public.stop()
	prepare.stop()
	staff.stop()
	supervise.stop()
	failed = errors.Join(failed, g.handOver(hurry))
	dispatch.cancel() // what is on its way arrives while the rest ends
	failed = errors.Join(failed, bounded(hurry, requestsLimit, g.internal.Shutdown))
	internal.stop()
	dispatch.stop()
	g.listening()
	return failed
}

// handOver ends the workers, and gives each one's monitor back when it has
// ended. Pods go on, and with them their monitors.
func (g *service) handOver(hurry haste) error {
	releasing, cancel := context.WithCancel(hurry)
	defer cancel()
	released := make(chan error, 1)
	go func() { released <- g.supervisor.Release(releasing) }()
	err := bounded(hurry, workersLimit, g.runtime.Close)
	defer time.AfterFunc(releaseLimit, cancel).Stop()
	return errors.Join(err, <-released)
}

// dispatch sends webhooks, first what an earlier gateway at this place was
// sending when it died.
func (g *service) dispatch(ctx context.Context) {
	if place := g.runtime.Runtime(); !place.Shared {
		if err := g.store.Succeed(ctx, place.ID); err != nil {
			g.log.Warn("webhooks that an earlier gateway was sending wait for the end of its leases", "error", err)
		}
	}
	g.dispatcher.Run(ctx)
}

// staff sees to it that every active monitor has its worker (section 10.4,
// decisions A10, O3 and O5). The time of the reconciliation runs from the start,
// whether or not there is a database.
func (g *service) staff(ctx context.Context) {
	promoting := start(g.database.before(g.supervisor.Promote))
	defer promoting.stop()
	g.supervisor.Reconcile(ctx)
	g.reconciled.Store(true)
	g.database.before(g.supervisor.Watch)(ctx)
}

func (g *service) closePorts() error {
	return errors.Join(g.public.Shutdown(context.Background()), g.internal.Shutdown(context.Background()))
}
