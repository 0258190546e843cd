package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/stream-monitor/stream-monitor/adapters/internal/exitqueue"
	"github.com/stream-monitor/stream-monitor/adapters/internal/workerlist"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ErrClosed is the error of a Launch after Close.
var ErrClosed = errors.New("the launcher is closed")

// Launcher runs workers as processes; it is a supervisor.Launcher.
type Launcher struct {
	cfg    Config
	log    *slog.Logger
	dir    *runDirectory
	output *outputForwarder
	exits  *exitqueue.Queue[supervisor.Exit]

	running sync.WaitGroup // counts the runs

	mu     sync.Mutex
	closed bool
	runs   map[monitor.ID][]*run // by ascending generation; the launcher is ending all but the last
}

var _ supervisor.Launcher = (*Launcher)(nil)

// New makes a launcher and adopts the workers of an earlier one on the same run
// directory. It reads that directory and /proc. The caller must Close it.
// Errors: a required value of cfg is missing; another gateway holds Config.RunDir; that
// directory cannot be used.
func New(cfg Config) (*Launcher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	held, problem, err := workerlist.Acquire(cfg.RunDir)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	dir := &runDirectory{held}
	l := &Launcher{
		cfg:    cfg,
		log:    cfg.Log.With("component", "process"),
		dir:    dir,
		output: &outputForwarder{out: cfg.Output},
		runs:   map[monitor.ID][]*run{},
	}
	if problem != nil {
		l.log.Warn("the ID of the run directory cannot be read; the gateway has made a new one", "error", problem.Error())
	}
	l.exits = exitqueue.New[supervisor.Exit]()
	if err := l.adoptRunning(); err != nil {
		l.exits.Close()
		dir.Close()
		return nil, err
	}
	return l, nil
}

// Runtime identifies the run directory on this machine.
func (l *Launcher) Runtime() supervisor.Runtime { return l.dir.runtime() }

// Workers lists the running workers, adopted ones included. It leaves out workers that
// cannot report to this gateway, which is ending them. It never fails.
func (l *Launcher) Workers(context.Context) ([]supervisor.Worker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []supervisor.Worker
	for id, runs := range l.runs {
		if r := newestUsable(runs); r != nil {
			all = append(all, supervisor.Worker{ID: id, Generation: r.generation})
		}
	}
	return all, nil
}

// Runs reports whether a worker of this generation or a newer one runs. It never fails.
func (l *Launcher) Runs(_ context.Context, id monitor.ID, generation int) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := newestUsable(l.runs[id])
	return r != nil && r.generation >= generation, nil
}

// Launch starts a worker. It first ends an older generation, within 5 s or
// Config.GracePeriod if that is shorter. It waits for a worker that is being stopped.
// Errors: ErrClosed; ctx's; a newer generation is running; the process cannot be
// started.
func (l *Launcher) Launch(ctx context.Context, spec supervisor.WorkerSpec) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("launch %s: %w", spec.ID, err)
		}
		other, err := l.launch(spec)
		if err != nil || other == nil {
			return err
		}
		if other.generation < spec.Generation {
			other.requestQuickStop()
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return fmt.Errorf("launch %s: waiting for generation %d to end: %w", spec.ID, other.generation, ctx.Err())
		}
	}
}

// launch starts a worker. If another worker must end first, it returns that one instead.
func (l *Launcher) launch(spec supervisor.WorkerSpec) (other *run, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("launch %s: %w", spec.ID, ErrClosed)
	}
	runs := l.runs[spec.ID]
	if r := newestUsable(runs); r != nil {
		switch {
		case r.generation > spec.Generation:
			return nil, fmt.Errorf("launch %s: generation %d is running, %d is older", spec.ID, r.generation, spec.Generation)
		case r.generation == spec.Generation && !r.isStopping():
			return nil, nil
		}
	}
	if len(runs) > 0 {
		return runs[len(runs)-1], nil
	}
	r, err := l.start(spec)
	if err != nil {
		return nil, err
	}
	l.log.Info("worker started", "monitor_id", string(spec.ID), "generation", spec.Generation, "pid", r.pid)
	return nil, nil
}

// Stop ends a monitor's worker: SIGTERM, then SIGKILL after Config.GracePeriod.
// It returns when the worker has ended. If ctx is done first, it returns ctx's error, and
// the launcher finishes the stop.
func (l *Launcher) Stop(ctx context.Context, id monitor.ID) error {
	l.mu.Lock()
	runs := slices.Clone(l.runs[id])
	l.mu.Unlock()
	for _, r := range runs {
		r.requestStop()
	}
	for _, r := range runs {
		select {
		case <-r.done:
		case <-ctx.Done():
			return fmt.Errorf("stop %s: %w", id, ctx.Err())
		}
	}
	return nil
}

// Exits delivers the end of every worker. Unread exits wait without limit. Close drops
// those that are not read within 250 ms.
func (l *Launcher) Exits() <-chan supervisor.Exit { return l.exits.Out() }

// Close stops all workers at once, waits for them, and closes Exits. If ctx is done
// first, it kills the remaining workers. When it returns, no process and no goroutine is
// left. Errors: workers were killed because ctx was done.
func (l *Launcher) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	var all []*run
	for _, runs := range l.runs {
		all = append(all, runs...)
	}
	l.mu.Unlock()
	for _, r := range all {
		r.requestStop()
	}

	gone := make(chan struct{})
	go func() { l.running.Wait(); close(gone) }()
	var err error
	select {
	case <-gone:
	case <-ctx.Done():
		err = fmt.Errorf("close launcher: workers killed: %w", ctx.Err())
		for _, r := range all {
			r.force()
		}
		<-gone
	}
	l.exits.Close()
	l.dir.Close()
	return err
}
