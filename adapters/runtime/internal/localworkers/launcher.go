package localworkers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/exitqueue"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ErrClosed is the error of a Launch after Close.
var ErrClosed = errors.New("the launcher is closed")

// replacementGracePeriod is the longest grace period of a worker that a newer generation
// replaces.
const replacementGracePeriod = 5 * time.Second

// forcedExitTimeout is how long Close waits for workers that it has forced.
const forcedExitTimeout = 5 * time.Second

// Worker is a worker that was started. Ask and Force may be repeated, also after its end.
type Worker interface {
	// Run blocks until the worker has ended. It returns nil if the worker has ended without an
	// error. It is called once.
	Run() error

	Ask()   // asks the worker to end as section 8.3 says
	Force() // ends it at once
}

// Config configures a Launcher. Name, IDFile and Start are required.
type Config struct {
	Name string // of the runtime: "process" or "inline"

	// IDFile holds the ID of the runtime. It is made if it does not exist, and one gateway at a
	// time uses it.
	IDFile string

	// Start starts a worker. It returns quickly.
	Start func(spec supervisor.WorkerSpec, log *slog.Logger) (Worker, error)

	GracePeriod time.Duration // between Ask and Force, default 30 s (section 8.3)
	Log         *slog.Logger  // default: nothing is logged
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.IDFile == "":
		return c, fmt.Errorf("%s: IDFile is required", c.Name)
	case c.GracePeriod < 0:
		return c, fmt.Errorf("%s: GracePeriod must not be negative", c.Name)
	case c.GracePeriod == 0:
		c.GracePeriod = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Launcher runs workers that end with this process; it is a supervisor.Launcher.
type Launcher struct {
	cfg   Config
	log   *slog.Logger
	id    *runtimeID
	exits *exitqueue.Queue[supervisor.Exit]

	running sync.WaitGroup // counts the runs

	mu     sync.Mutex
	closed bool
	runs   map[monitor.ID]*run // at most one worker for each monitor
}

var _ supervisor.Launcher = (*Launcher)(nil)

// New makes a launcher. The caller must Close it. Errors: a value of cfg is missing or out
// of its range; another gateway uses Config.IDFile; that file cannot be used.
func New(cfg Config) (*Launcher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	id, problem, err := lockRuntimeID(cfg.IDFile)
	if err != nil {
		return nil, fmt.Errorf("%s: the ID of the runtime: %w", cfg.Name, err)
	}
	l := &Launcher{
		cfg:   cfg,
		log:   cfg.Log.With("component", cfg.Name),
		id:    id,
		exits: exitqueue.New[supervisor.Exit](),
		runs:  map[monitor.ID]*run{},
	}
	if problem != nil {
		l.log.Warn("the ID of the runtime cannot be read; the gateway has made a new one", "error", problem.Error())
	}
	return l, nil
}

// Runtime returns the runtime of Config.IDFile. Its ID stays the same if a later gateway runs its
// workers in another way with that file.
func (l *Launcher) Runtime() supervisor.Runtime {
	return supervisor.Runtime{ID: l.id.id.String(), NotFoundMessage: "Worker not found in its gateway"}
}

// Workers lists the running workers. It never fails.
func (l *Launcher) Workers(context.Context) ([]supervisor.Worker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]supervisor.Worker, 0, len(l.runs))
	for id, r := range l.runs {
		all = append(all, supervisor.Worker{ID: id, Generation: r.spec.Generation})
	}
	return all, nil
}

// Runs reports whether a worker of this generation or a newer one runs. It never fails.
func (l *Launcher) Runs(_ context.Context, id monitor.ID, generation int) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, runs := l.runs[id]
	return runs && r.spec.Generation >= generation, nil
}

// Launch starts a worker. It first ends an older generation, within 5 s. It waits for a
// worker that is being stopped. Errors: ErrClosed; ctx's; a newer generation is running; the
// worker cannot be started.
func (l *Launcher) Launch(ctx context.Context, spec supervisor.WorkerSpec) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("launch %s: %w", spec.ID, err)
		}
		older, err := l.launch(spec)
		if err != nil {
			return fmt.Errorf("launch %s: %w", spec.ID, err)
		}
		if older == nil {
			return nil
		}
		if older.spec.Generation < spec.Generation {
			older.stop(min(replacementGracePeriod, l.cfg.GracePeriod))
		}
		select {
		case <-older.done:
		case <-ctx.Done():
			return fmt.Errorf("launch %s: waiting for generation %d to end: %w", spec.ID, older.spec.Generation, ctx.Err())
		}
	}
}

// launch starts a worker. If another worker must end first, it returns that one instead.
func (l *Launcher) launch(spec supervisor.WorkerSpec) (older *run, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if r := l.runs[spec.ID]; r != nil {
		switch {
		case r.spec.Generation > spec.Generation:
			return nil, fmt.Errorf("generation %d is running, %d is older", r.spec.Generation, spec.Generation)
		case r.spec.Generation == spec.Generation && !r.isStopping():
			return nil, nil
		}
		return r, nil
	}
	log := l.log.With("monitor_id", string(spec.ID), "generation", spec.Generation)
	worker, err := l.cfg.Start(spec, log)
	if err != nil {
		return nil, err
	}
	r := &run{Worker: worker, spec: spec, log: log, started: time.Now(), done: make(chan struct{})}
	l.runs[spec.ID] = r
	l.running.Go(func() {
		err := errNotReturned
		defer func() { l.reportExit(r, err) }()
		err = r.Run()
	})
	log.Info("worker started")
	return nil, nil
}

// reportExit removes a worker that has ended, and queues its exit.
func (l *Launcher) reportExit(r *run, err error) {
	r.ended()
	e := supervisor.Exit{ID: r.spec.ID, Generation: r.spec.Generation, Detail: exitDetail(err), Clean: err == nil}
	r.log.Info("worker ended", "detail", e.Detail, "asked_to", r.isStopping(), "ran_sec", int64(time.Since(r.started).Seconds()))

	l.mu.Lock()
	delete(l.runs, r.spec.ID)
	l.exits.Add(e) // while mu is held: the exit of the next worker must come later
	l.mu.Unlock()
	close(r.done)
}

// Stop ends a monitor's worker, with force after Config.GracePeriod. It returns when the
// worker has ended. If ctx is done first, it returns ctx's error, and the launcher finishes
// the stop.
func (l *Launcher) Stop(ctx context.Context, id monitor.ID) error {
	l.mu.Lock()
	r := l.runs[id]
	l.mu.Unlock()
	if r == nil {
		return nil
	}
	r.stop(l.cfg.GracePeriod)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: %w", id, ctx.Err())
	}
}

// Exits delivers the end of every worker. Unread exits wait without limit. Close drops
// those that are not read within 250 ms.
func (l *Launcher) Exits() <-chan supervisor.Exit { return l.exits.Out() }

// Close stops all workers at once, waits for them, and closes Exits. If ctx is done
// first, it forces the remaining workers. Errors: ctx was done and workers were forced; a
// forced worker did not end within 5 s and still runs, and its exit is not reported.
func (l *Launcher) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	all := make([]*run, 0, len(l.runs))
	for _, r := range l.runs {
		all = append(all, r)
	}
	l.mu.Unlock()
	for _, r := range all {
		r.stop(l.cfg.GracePeriod)
	}

	gone := make(chan struct{})
	go func() { l.running.Wait(); close(gone) }()
	var err error
	select {
	case <-gone:
	case <-ctx.Done():
		err = fmt.Errorf("close launcher: workers were ended by force: %w", ctx.Err())
		for _, r := range all {
			r.Force()
		}
		select {
		case <-gone:
		case <-time.After(forcedExitTimeout):
			err = fmt.Errorf("close launcher: workers did not end by force and still run: %w", ctx.Err())
		}
	}
	l.exits.Close()
	l.id.unlock()
	return err
}
