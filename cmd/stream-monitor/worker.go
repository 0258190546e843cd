package main

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/adapters/probe"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// workerMemory is how much a worker aims to hold, so that collecting garbage
// after a large playlist is not put off: there is one worker for every stream.
const workerMemory = 16 << 20

// Run watches one stream for a gateway. A worker that has been superseded ends
// well: its successor is at work.
func (c *WorkerCmd) Run(ctx context.Context, io console) error {
	outliveReaders()
	log, err := logging.New(lossy(io.err, c.MonitorID), c.Log.LogLevel, time.Local)
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(workerMemory)
	debug.FreeOSMemory()
	small, enough := context.WithCancel(ctx)
	defer enough()
	go keepSmall(small)
	own := log.With("component", "worker", "monitor_id", string(c.MonitorID))
	err = c.watch(ctx, log)
	return logged(own, dismissed(own, err))
}

// dismissed is how a worker ended that has not failed: nil for one that has been
// told to go.
func dismissed(log *slog.Logger, err error) error {
	var refused *monitor.Error
	switch {
	case errors.Is(err, monitor.ErrSuperseded):
		log.Info("another worker has taken over")
		return nil
	case errors.As(err, &refused) && refused.Code == monitor.NotFound:
		log.Info("there is nothing to watch any more")
		return nil
	}
	return err
}

func (c *WorkerCmd) watch(ctx context.Context, log *slog.Logger) error {
	desk, err := gateway.New(c.GatewayURL, c.InternalAPIKey, gateway.Config{RootCAs: c.GatewayCAFile})
	if err != nil {
		return err
	}
	defer desk.Close()
	w := worker.New(c.Watching.ports(desk, log), worker.Config{
		ID:         c.MonitorID,
		Generation: c.Generation,
		Prefer:     watch.RenditionPreference(c.Watching.StreamRendition),
		Patience:   c.GatewayPatience,
		NewEventID: newEventID,
		Log:        log,
		Now:        tamper(parts{Now: time.Now}).Now,
	})
	if c.ProbeListenAddr != "" {
		probes, err := probe.Listen(c.ProbeListenAddr, w.Alive, w.Ready, log)
		if err != nil {
			return err
		}
		defer func() { _ = probes.Close() }() // nobody is left to hear of it
	}
	return w.Run(ctx)
}
