package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Ports is what a worker works with. All are required.
type Ports struct {
	Gateway   Gateway
	Resolver  Resolver
	Prober    Prober
	Playlists PlaylistReader
	Segments  SegmentFetcher
	Analyser  Analyser
}

// Config is what may differ from one worker to another.
type Config struct {
	ID         monitor.ID
	Generation int
	Prefer     watch.RenditionPreference // default watch.Smallest
	NewEventID func() string             // gives a UUIDv7; required
	Record     io.Writer                 // nil: nothing is recorded
	Heartbeat  time.Duration             // longest silence towards the gateway, default 10 s
	Patience   time.Duration             // without a word from the gateway, after which it is believed gone; default: without end
	Shutdown   time.Duration             // bound on section 8.3's steps, default 25 s of the 30 s until SIGKILL
	Log        *slog.Logger              // required
	Now        func() time.Time          // the wall clock, read again and again: a worker follows it when it is set; default time.Now
}

// Bounds on a task, beyond those that the adapters keep.
const (
	resolveLimit  = 90 * time.Second
	playlistLimit = 20 * time.Second
	segmentLimit  = 20 * time.Second
)

// lastWords is how long a worker that ends for a fault of its own goes on
// trying to tell what it has seen; its successor sees what it could not.
const lastWords = 2 * time.Second

// ErrForced ends a worker that may not take the steps of section 8.3.
var ErrForced = errors.New("ended by force")

// ErrAlone ends a worker whose gateway is gone: nobody hears what it sees, and
// nobody would ever stop it.
var ErrAlone = errors.New("the gateway is gone")

// Worker watches one stream.
type Worker struct {
	ports Ports
	cfg   Config
	clock *clock
	log   *slog.Logger
	pulse pulse
}

// New makes a worker; Run starts it.
func New(ports Ports, cfg Config) *Worker {
	if cfg.Prefer == "" {
		cfg.Prefer = watch.Smallest
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 10 * time.Second
	}
	if cfg.Shutdown == 0 {
		cfg.Shutdown = 25 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Worker{
		ports: ports,
		cfg:   cfg,
		clock: newClock(cfg.Now),
		pulse: newPulse(),
		log:   cfg.Log.With("component", "worker", "monitor_id", string(cfg.ID)),
	}
}

// Run watches until there is nothing more to watch. It returns nil when the
// stream or the monitor has ended or ctx is done, monitor.ErrSuperseded when
// another worker has taken over, an *monitor.Error NotFound when the gateway
// knows the monitor no more, ErrAlone when it is gone, ErrLockedOut when it does
// not take the worker's key, and another error when the worker could not begin or
// something in it panicked.
func (w *Worker) Run(ctx context.Context) error { return w.RunUntil(ctx, context.Background()) }

// RunUntil is Run for a worker that shares its process with others: when force
// is done it breaks off whatever it does and returns ErrForced.
func (w *Worker) RunUntil(ctx, force context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(force, cancel)()
	return contained(w.log, "worker", func() error { return w.run(ctx, force) })
}

func (w *Worker) run(ctx, force context.Context) error {
	assignment, err := w.assignment(ctx)
	switch {
	case err != nil && force.Err() != nil:
		return ErrForced
	case err != nil && ctx.Err() == nil:
		return err
	case err != nil:
		return nil //nolint:nilerr // whoever ended ctx knows, and nothing was begun
	}
	opening := watch.RecordingHeader{
		Rules:    watch.RulesOf(assignment.Config, w.cfg.Prefer),
		At:       w.clock.now(),
		Snapshot: assignment.Snapshot,
	}
	watcher, err := opening.Watcher()
	if err != nil {
		w.log.Warn("The last worker's snapshot cannot be read; starting afresh", "error", err)
		opening.Snapshot = nil
		if watcher, err = opening.Watcher(); err != nil {
			return fmt.Errorf("start watching: %w", err)
		}
	}
	rec := &recorder{w: w.cfg.Record, log: w.log}
	if err := rec.open(opening); err != nil {
		return err
	}
	w.log.Info("Watching begins", "stream_url", string(assignment.StreamURL), "generation", w.cfg.Generation, "resumed", len(opening.Snapshot) > 0)

	l := &loop{
		Worker:   w,
		stream:   assignment.StreamURL,
		silence:  assignment.Config.Value(detector.SilenceDB),
		watcher:  watcher,
		recorder: rec,
		reporter: newReporter(force, w),
		force:    force,
	}
	return l.run(ctx)
}

// assignment asks for the worker's orders until it gets them.
func (w *Worker) assignment(ctx context.Context) (monitor.Assignment, error) {
	heard, complained := time.Now(), time.Time{}
	var door lockout
	for failures := 1; ; failures++ {
		began := time.Now()
		a, err := w.ask(ctx, tryLimit(failures-1, false))
		locked := door.after(err)
		switch {
		case err == nil:
			return a, nil
		case dismissed(err):
			return a, fmt.Errorf("assignment: %w", err)
		case locked:
			return a, fmt.Errorf("assignment: %w: %w", ErrLockedOut, err)
		case answered(err):
			heard = time.Now()
		case w.alone(heard):
			return a, fmt.Errorf("assignment: %w: %w", ErrAlone, err)
		}
		if time.Since(complained) >= complainEvery {
			complained = time.Now()
			w.log.Warn("The gateway gives no assignment; asking again", "error", err, "failures", failures)
		}
		if !sleep(ctx, retryDelay(failures)-time.Since(began)) {
			return a, context.Cause(ctx)
		}
	}
}

// ask asks for them once.
func (w *Worker) ask(ctx context.Context, limit time.Duration) (monitor.Assignment, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return w.ports.Gateway.Assignment(ctx, w.cfg.ID, w.cfg.Generation)
}

// alone tells whether nothing has been heard of the gateway for too long.
func (w *Worker) alone(heard time.Time) bool {
	return w.cfg.Patience > 0 && time.Since(heard) >= w.cfg.Patience
}

// sleep waits, and reports false if ctx was done first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
