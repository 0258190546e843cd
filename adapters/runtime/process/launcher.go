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

// ErrClosed answers a Launch after Close.
var ErrClosed = errors.New("the launcher is closed")

// Launcher runs workers as child processes; it is a supervisor.Launcher.
type Launcher struct {
	cfg     Config
	log     *slog.Logger
	dir     *directory
	printer *printer
	exits   *exitqueue.Queue[supervisor.Exit]

	owners sync.WaitGroup // one for each run

	mu     sync.Mutex
	closed bool
	runs   map[monitor.ID][]*run // the oldest first: all but the last are on their way out
}

var _ supervisor.Launcher = (*Launcher)(nil)

// New makes a launcher and adopts the workers that have outlived an earlier one
// of the same directory. It reads files and looks through the processes of this
// machine. Whoever made it must Close it. Errors: a required value of cfg is
// missing; another gateway holds Config.RunDir, or it cannot be used.
func New(cfg Config) (*Launcher, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	held, problem, err := workerlist.Acquire(cfg.RunDir)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	dir := &directory{held}
	l := &Launcher{
		cfg:     cfg,
		log:     cfg.Log.With("component", "process"),
		dir:     dir,
		printer: &printer{out: cfg.Output},
		runs:    map[monitor.ID][]*run{},
	}
	if problem != nil {
		l.log.Warn("the run directory has lost its id", "error", problem.Error())
	}
	l.exits = exitqueue.New[supervisor.Exit]()
	if err := l.adoptAll(); err != nil {
		l.exits.Close()
		dir.Close()
		return nil, err
	}
	return l, nil
}

// Runtime is this machine, as far as its run directory reaches.
func (l *Launcher) Runtime() supervisor.Runtime { return l.dir.place() }

// Workers lists the workers that run, adopted ones included. Those that cannot
// report here are not: they are being ended. It never fails.
func (l *Launcher) Workers(context.Context) ([]supervisor.Worker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []supervisor.Worker
	for id := range l.runs {
		if r := l.current(id); r != nil {
			all = append(all, supervisor.Worker{ID: id, Generation: r.generation})
		}
	}
	return all, nil
}

// Launch starts a worker. A worker of the same monitor and an older generation
// is ended first, which may take 5 s, or Config.Grace if that is less; one that
// is just being stopped is waited for. Errors: ErrClosed; ctx's; a newer
// generation is running; or what prevented the start.
func (l *Launcher) Launch(ctx context.Context, j supervisor.WorkerSpec) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("launch %s: %w", j.ID, err)
		}
		other, err := l.launch(j)
		if err != nil || other == nil {
			return err
		}
		if other.generation < j.Generation {
			other.askToYield()
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return fmt.Errorf("launch %s: waiting for generation %d to end: %w", j.ID, other.generation, ctx.Err())
		}
	}
}

// launch starts a worker unless another one has to go first, which it returns.
func (l *Launcher) launch(j supervisor.WorkerSpec) (other *run, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("launch %s: %w", j.ID, ErrClosed)
	}
	if r := l.current(j.ID); r != nil {
		switch {
		case r.generation > j.Generation:
			return nil, fmt.Errorf("launch %s: generation %d is running, %d is older", j.ID, r.generation, j.Generation)
		case r.generation == j.Generation && !r.isStopping():
			return nil, nil
		}
	}
	if of := l.runs[j.ID]; len(of) > 0 {
		return of[len(of)-1], nil
	}
	r, err := l.begin(j)
	if err != nil {
		return nil, err
	}
	l.log.Info("worker started", "monitor_id", string(j.ID), "generation", j.Generation, "pid", r.pid)
	return nil, nil
}

// Stop ends a monitor's worker: SIGTERM, SIGKILL after Config.Grace. It returns
// when the worker is gone. When ctx is done earlier it returns ctx's error, and
// the stopping goes on.
func (l *Launcher) Stop(ctx context.Context, id monitor.ID) error {
	l.mu.Lock()
	of := slices.Clone(l.runs[id])
	l.mu.Unlock()
	for _, r := range of {
		r.askToStop()
	}
	for _, r := range of {
		select {
		case <-r.done:
		case <-ctx.Done():
			return fmt.Errorf("stop %s: %w", id, ctx.Err())
		}
	}
	return nil
}

// Exits delivers every end of a worker. None is lost while nobody reads; at
// Close, what nobody has then read within a quarter of a second is.
func (l *Launcher) Exits() <-chan supervisor.Exit { return l.exits.Out() }

// Close stops all workers at once, as Stop does, waits for them, and closes
// Exits. When ctx is done earlier, those still running are killed. It returns
// when no process and no goroutine is left. Errors: workers had to be killed
// because ctx was done.
func (l *Launcher) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	var running []*run
	for _, of := range l.runs {
		running = append(running, of...)
	}
	l.mu.Unlock()
	for _, r := range running {
		r.askToStop()
	}

	gone := make(chan struct{})
	go func() { l.owners.Wait(); close(gone) }()
	var err error
	select {
	case <-gone:
	case <-ctx.Done():
		err = fmt.Errorf("close launcher: workers killed: %w", ctx.Err())
		for _, r := range running {
			r.force()
		}
		<-gone
	}
	l.exits.Close()
	l.dir.Close()
	return err
}
