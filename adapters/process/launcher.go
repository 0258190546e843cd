package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/stream-monitor/stream-monitor/application/supervise"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ErrClosed answers a Launch after Close.
var ErrClosed = errors.New("the launcher is closed")

// Launcher runs workers as child processes; it is a supervise.Launcher.
type Launcher struct {
	cfg     Config
	log     *slog.Logger
	printer *printer
	exits   *exits

	owners sync.WaitGroup // one for each run
	pump   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	runs   map[monitor.ID]*run // at most one worker for each monitor

	closeOnce sync.Once
}

var _ supervise.Launcher = (*Launcher)(nil)

// New makes a launcher. Whoever made it must Close it. Errors: a required value
// of cfg is missing.
func New(cfg Config) (*Launcher, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	l := &Launcher{
		cfg:     cfg,
		log:     cfg.Log.With("component", "process"),
		printer: &printer{out: cfg.Output},
		exits:   newExits(),
		runs:    map[monitor.ID]*run{},
	}
	l.pump.Go(l.exits.pump)
	return l, nil
}

// Place is this machine, as far as its run directory reaches.
func (l *Launcher) Place() supervise.Place {
	return supervise.Place{ID: "process", Absence: "Worker process not found on this machine"}
}

// Workers lists the workers that run.
func (l *Launcher) Workers(context.Context) ([]supervise.Worker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []supervise.Worker
	for id, r := range l.runs {
		all = append(all, supervise.Worker{ID: id, Generation: r.generation})
	}
	return all, nil
}

// Launch starts a worker. A worker of the same monitor and an older generation
// is stopped first, which may take Config.Grace; one that is just being stopped
// is waited for. Errors: ErrClosed; ctx's; a newer generation is running; or
// what prevented the start.
func (l *Launcher) Launch(ctx context.Context, j supervise.Job) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("launch %s: %w", j.ID, err)
		}
		older, err := l.launch(j)
		if err != nil || older == nil {
			return err
		}
		older.askToStop()
		select {
		case <-older.done:
		case <-ctx.Done():
			return fmt.Errorf("launch %s: waiting for generation %d to end: %w", j.ID, older.generation, ctx.Err())
		}
	}
}

// launch starts a worker unless another one has to go first, which it returns.
func (l *Launcher) launch(j supervise.Job) (older *run, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("launch %s: %w", j.ID, ErrClosed)
	}
	if r := l.runs[j.ID]; r != nil {
		switch {
		case r.generation > j.Generation:
			return nil, fmt.Errorf("launch %s: generation %d is running, %d is older", j.ID, r.generation, j.Generation)
		case r.generation == j.Generation && !r.isStopping():
			return nil, nil
		}
		return r, nil
	}
	r, err := l.begin(j)
	if err != nil {
		return nil, err
	}
	l.runs[j.ID] = r
	l.log.Info("worker started", "monitor_id", string(j.ID), "generation", j.Generation, "pid", r.pid)
	return nil, nil
}

// Stop ends a monitor's worker: SIGTERM to its process group, SIGKILL after
// Config.Grace. It returns when the worker is gone. When ctx is done earlier it
// returns ctx's error, and the stopping goes on.
func (l *Launcher) Stop(ctx context.Context, id monitor.ID) error {
	l.mu.Lock()
	r := l.runs[id]
	l.mu.Unlock()
	if r == nil {
		return nil
	}
	r.askToStop()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: %w", id, ctx.Err())
	}
}

// Exits delivers every end of a worker. None is lost while nobody reads; at
// Close, what nobody has then read within a quarter of a second is.
func (l *Launcher) Exits() <-chan supervise.Exit { return l.exits.out }

// Close stops all workers at once, as Stop does, waits for them, and closes
// Exits. When ctx is done earlier, those still running are killed. It returns
// when no process and no goroutine is left. Errors: workers had to be killed
// because ctx was done.
func (l *Launcher) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	running := make([]*run, 0, len(l.runs))
	for _, r := range l.runs {
		running = append(running, r)
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
	l.closeOnce.Do(func() { close(l.exits.closing) })
	l.pump.Wait()
	return err
}
