package inline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/exitqueue"
	"github.com/stream-monitor/stream-monitor/adapters/internal/workerlist"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ErrClosed answers a Launch after Close.
var ErrClosed = errors.New("the launcher is closed")

// Launcher runs workers as goroutines; it is a supervisor.Launcher.
type Launcher struct {
	cfg   Config
	log   *slog.Logger
	dir   *workerlist.Dir
	exits *exitqueue.Queue[supervisor.Exit]

	owners sync.WaitGroup // one for each run

	mu     sync.Mutex
	closed bool
	runs   map[monitor.ID]*run // at most one worker for each monitor
}

var _ supervisor.Launcher = (*Launcher)(nil)

// New makes a launcher. Whoever made it must Close it. Errors: cfg is not as it
// says; another gateway holds Config.RunDir, or it cannot be used.
func New(cfg Config) (*Launcher, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	dir, problem, err := workerlist.Acquire(cfg.RunDir)
	if err != nil {
		return nil, fmt.Errorf("inline: %w", err)
	}
	l := &Launcher{
		cfg:   cfg,
		log:   cfg.Log.With("component", "inline"),
		dir:   dir,
		exits: exitqueue.New[supervisor.Exit](),
		runs:  map[monitor.ID]*run{},
	}
	if problem != nil {
		l.log.Warn("the run directory has lost its id", "error", problem.Error())
	}
	return l, nil
}

// Runtime is this gateway and whoever comes after it in its run directory, under
// whatever runtime.
func (l *Launcher) Runtime() supervisor.Runtime {
	return supervisor.Runtime{ID: l.dir.ID.String(), NotFoundMessage: "Worker not found in its gateway"}
}

// Workers lists the workers that run; it never fails.
func (l *Launcher) Workers(context.Context) ([]supervisor.Worker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]supervisor.Worker, 0, len(l.runs))
	for id, r := range l.runs {
		all = append(all, supervisor.Worker{ID: id, Generation: r.job.Generation})
	}
	return all, nil
}

// Launch starts a worker. A worker of the same monitor and an older generation
// is ended first, for which it gets 5 s at most; one that is just being stopped
// is waited for. Errors: ErrClosed; ctx's; a newer generation is running.
func (l *Launcher) Launch(ctx context.Context, j supervisor.WorkerSpec) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("launch %s: %w", j.ID, err)
		}
		older, err := l.launch(j)
		if err != nil || older == nil {
			return err
		}
		if older.job.Generation < j.Generation {
			older.end(min(replaceGrace, l.cfg.GracePeriod))
		}
		select {
		case <-older.done:
		case <-ctx.Done():
			return fmt.Errorf("launch %s: waiting for generation %d to end: %w", j.ID, older.job.Generation, ctx.Err())
		}
	}
}

// launch starts a worker unless another one has to go first, which it returns.
func (l *Launcher) launch(j supervisor.WorkerSpec) (older *run, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("launch %s: %w", j.ID, ErrClosed)
	}
	if r := l.runs[j.ID]; r != nil {
		switch {
		case r.job.Generation > j.Generation:
			return nil, fmt.Errorf("launch %s: generation %d is running, %d is older", j.ID, r.job.Generation, j.Generation)
		case r.job.Generation == j.Generation && !r.ending():
			return nil, nil
		}
		return r, nil
	}
	r := newRun(j, l.log)
	l.runs[j.ID] = r
	l.owners.Go(func() {
		err := errVanished
		defer func() { l.finish(r, err) }()
		err = r.live(l.cfg.RunWorker)
	})
	r.log.Info("worker started")
	return nil, nil
}

// finish takes a worker that is gone off the books and tells.
func (l *Launcher) finish(r *run, err error) {
	r.retire()
	e := supervisor.Exit{ID: r.job.ID, Generation: r.job.Generation, Detail: detail(err), Clean: err == nil}
	r.log.Info("worker ended", "detail", e.Detail, "asked_to", r.ending(), "ran_sec", int64(time.Since(r.started).Seconds()))

	l.mu.Lock()
	delete(l.runs, r.job.ID)
	l.exits.Add(e) // before a successor can have an exit of its own
	l.mu.Unlock()
	close(r.done)
}

// Stop ends a monitor's worker: it is asked, and forced after Config.Grace. It
// returns when the worker is gone. When ctx is done earlier it returns ctx's
// error, and the stopping goes on.
func (l *Launcher) Stop(ctx context.Context, id monitor.ID) error {
	l.mu.Lock()
	r := l.runs[id]
	l.mu.Unlock()
	if r == nil {
		return nil
	}
	r.end(l.cfg.GracePeriod)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: %w", id, ctx.Err())
	}
}

// Exits delivers every end of a worker. None is lost while nobody reads; at
// Close, what nobody has then read within a quarter of a second is.
func (l *Launcher) Exits() <-chan supervisor.Exit { return l.exits.Out() }

// Close stops all workers at once, as Stop does, waits for them, and closes
// Exits. When ctx is done earlier, those still running are forced. Errors:
// workers had to be forced because ctx was done; some did not heed that for 5 s
// and are left running, with nobody to hear how they end.
func (l *Launcher) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	running := make([]*run, 0, len(l.runs))
	for _, r := range l.runs {
		running = append(running, r)
	}
	l.mu.Unlock()
	for _, r := range running {
		r.end(l.cfg.GracePeriod)
	}

	gone := make(chan struct{})
	go func() { l.owners.Wait(); close(gone) }()
	var err error
	select {
	case <-gone:
	case <-ctx.Done():
		err = fmt.Errorf("close launcher: workers forced: %w", ctx.Err())
		for _, r := range running {
			r.hasten()
		}
		select {
		case <-gone:
		case <-time.After(heedGrace):
			err = fmt.Errorf("close launcher: workers do not heed force and are left running: %w", ctx.Err())
		}
	}
	l.exits.Close()
	l.dir.Close()
	return err
}
