package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Run watches one stream in the foreground: the same loop as a worker's, with
// the terminal for a gateway. It ends well when the stream has ended or the user
// interrupts it, and fails when the watch could not go on.
func (c *WatchCmd) Run(ctx context.Context, io console) error {
	newLog := logging.NewText
	if c.JSON {
		newLog = logging.New
	}
	log, err := newLog(io.err, c.Log.LogLevel, time.Local)
	if err != nil {
		return err
	}
	cfg := worker.Config{
		ID:         monitor.NewID(uuid.Must(uuid.NewV7())),
		Generation: 1,
		Prefer:     watch.RenditionPreference(c.Watching.StreamRendition),
		NewEventID: newEventID,
		Log:        log,
	}
	if c.Record != "" {
		file, err := os.OpenFile(c.Record, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("recording: %w", err)
		}
		defer func() { _ = file.Close() }()
		cfg.Record = file
	}
	t := &terminal{print: printer(io.out, c.JSON), stream: c.URL, config: c.Rules()}
	if err := worker.New(c.Watching.ports(t, log), cfg).Run(ctx); err != nil {
		return err
	}
	return t.verdict()
}

// terminal is the gateway of a watch in the foreground: it hands out the
// command line as the assignment and prints the events.
type terminal struct {
	print  func(watch.EventEmitted)
	stream monitor.StreamURL
	config monitor.Config

	mu   sync.Mutex
	last monitor.Status
}

func (t *terminal) Assignment(_ context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	return monitor.Assignment{ID: id, Generation: generation, StreamURL: t.stream, Config: t.config}, nil
}

func (t *terminal) Report(_ context.Context, _ monitor.ID, r monitor.Report) (monitor.Order, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = r.Status
	for _, e := range r.Events {
		t.print(watch.EventEmitted{Event: e})
	}
	return monitor.Run, nil
}

func (t *terminal) verdict() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == monitor.Failed {
		return errors.New("the stream cannot be watched; the last event says why")
	}
	return nil
}
