package inline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/internal/localworkers"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// WorkerFunc runs a worker. When ctx is done, it must shut down as section 8.3 says. When
// force is done, it must return at once; force is never done before ctx. It returns nil if
// the worker has made its final report.
type WorkerFunc func(ctx, force context.Context, spec supervisor.WorkerSpec) error

// Config configures a launcher. IDFile and RunWorker are required.
type Config struct {
	IDFile      string        // localworkers.Config.IDFile
	RunWorker   WorkerFunc    // must return when force is done, wherever it waits
	GracePeriod time.Duration // between ctx and force, default 30 s (section 8.3)
	Log         *slog.Logger  // default: nothing is logged
}

// New makes a launcher of goroutines. The caller must Close it. Errors: RunWorker is missing; those
// of localworkers.New.
func New(cfg Config) (*localworkers.Launcher, error) {
	if cfg.RunWorker == nil {
		return nil, errors.New("inline: RunWorker is required")
	}
	return localworkers.New(localworkers.Config{
		Name: "inline", IDFile: cfg.IDFile, GracePeriod: cfg.GracePeriod, Log: cfg.Log,
		Start: func(spec supervisor.WorkerSpec, log *slog.Logger) (localworkers.Worker, error) {
			w := &worker{work: cfg.RunWorker, spec: spec, log: log}
			w.force, w.endForce = context.WithCancel(context.Background())
			w.ctx, w.endCtx = context.WithCancel(w.force)
			return w, nil
		},
	})
}

// worker is a goroutine.
type worker struct {
	work WorkerFunc
	spec supervisor.WorkerSpec
	log  *slog.Logger

	ctx, force       context.Context
	endCtx, endForce context.CancelFunc
}

// Run runs the worker. It turns a panic into an error.
func (w *worker) Run() (err error) {
	defer w.endForce()
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("worker panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return w.work(w.ctx, w.force, w.spec)
}

func (w *worker) Ask()   { w.endCtx() }
func (w *worker) Force() { w.endForce() }
