package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/adapters/probe"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/faultinject"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// workerMemory is the soft memory limit of a worker process, in bytes. It makes the
// garbage collector run soon after a large playlist. Many workers share one machine.
const workerMemory = 16 << 20

// runWorker watches one stream for a gateway. It returns nil if another worker has taken
// over, or if the gateway does not know the monitor any more.
func runWorker(ctx context.Context, c *config.Worker, out console) error {
	ignoreBrokenPipe()
	log, err := newLog(logging.New, out.err, c.Log.LogLevel)
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(workerMemory)
	debug.FreeOSMemory()
	if err := prepareTools(c.Watching); err != nil {
		return err
	}
	workerLog := log.With("component", "worker", "monitor_id", string(c.MonitorID))
	if c.EndWithInput == "on" {
		go endWith(os.Stdin)
	} else { // in a pod: on a host, the gateway has said so
		warnOfMissingConfinement(c.Watching, workerLog)
	}
	err = watchForGateway(ctx, c, log)
	return logged(workerLog, ignoreReplaced(workerLog, err))
}

// endWith ends this process when its gateway has ended, which held the other end of the input. Nothing is left to be done:
// no gateway would take a report, and the tools end with this process.
func endWith(input io.Reader) {
	_, _ = io.Copy(io.Discard, input)
	os.Exit(1)
}

// ignoreReplaced returns nil instead of an error with which the gateway dismisses a
// worker: it was replaced, or its monitor is unknown.
func ignoreReplaced(log *slog.Logger, err error) error {
	var refused *monitor.Error
	switch {
	case errors.Is(err, monitor.ErrSuperseded):
		log.Info("the worker ends: another worker has taken over")
		return nil
	case errors.As(err, &refused) && refused.Code == monitor.NotFound:
		log.Info("the worker ends: the gateway no longer knows its monitor")
		return nil
	}
	return err
}

func watchForGateway(ctx context.Context, c *config.Worker, log *slog.Logger) error {
	client, err := gateway.New(c.GatewayURL, c.InternalAPIKey, gateway.Config{RootCAs: c.GatewayCAFile})
	if err != nil {
		return err
	}
	defer client.Close()
	delays := worker.NewCheckDelays(log.With("monitor_id", string(c.MonitorID)))
	defer delays.Close()
	pool := newDecoderPool(c.Watching, 1, log.With("monitor_id", string(c.MonitorID)))
	defer pool.Close()
	w := worker.New(newWatchingTools(c.Watching, pool, newResolvingTools(c.Watching, log.With("monitor_id", string(c.MonitorID)))).ports(client, client, client, c.MonitorID, log), worker.Config{
		ID:           c.MonitorID,
		Generation:   c.Generation,
		Preference:   watch.RenditionPreference(c.Watching.StreamRendition),
		NewEventID:   newEventID,
		SpreadChecks: true,
		Delays:       delays,
		Log:          log,
		Now:          faultinject.Wrap(faultinject.Ports{Now: time.Now}).Now,
	})
	if c.ProbeListenAddr != "" {
		probes, err := probe.Listen(c.ProbeListenAddr, w.Alive, w.Ready, log)
		if err != nil {
			return config.ExplainListen("PROBE_LISTEN_ADDR", c.ProbeListenAddr, err)
		}
		defer func() { _ = probes.Close() }() // the process ends
	}
	return w.Run(ctx)
}
