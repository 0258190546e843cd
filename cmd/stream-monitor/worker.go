package main

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
	"github.com/stream-monitor/stream-monitor/adapters/logging"
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
	log, err := logging.New(io.err, c.Log.LogLevel, time.Local)
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(workerMemory)
	desk, err := gateway.New(c.GatewayURL, c.InternalAPIKey, gateway.Config{})
	if err != nil {
		return err
	}
	err = worker.New(c.Watching.ports(desk, log), worker.Config{
		ID:         c.MonitorID,
		Generation: c.Generation,
		Prefer:     watch.Preference(c.Watching.StreamRendition),
		NewEventID: newEventID,
		Log:        log,
	}).Run(ctx)
	var refused *monitor.Error
	switch {
	case errors.Is(err, monitor.ErrSuperseded):
		log.Info("another worker has taken over", "component", "worker", "monitor_id", string(c.MonitorID))
		return nil
	case errors.As(err, &refused) && refused.Code == monitor.NotFound:
		log.Info("there is nothing to watch any more", "component", "worker", "monitor_id", string(c.MonitorID))
		return nil
	}
	return err
}
