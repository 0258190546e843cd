package inline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// maxDetail is the maximum length of an exit's detail, in bytes.
const maxDetail = 300

// errGoroutineExited is the error of a worker that neither returned nor panicked, but called
// runtime.Goexit.
var errGoroutineExited = errors.New("the worker's goroutine ended without returning")

// run is one worker, from its start until its exit is queued.
type run struct {
	spec    supervisor.WorkerSpec
	log     *slog.Logger
	started time.Time
	done    chan struct{} // closed when the worker's exit is queued

	ctx, force             context.Context
	requestStop, forceStop context.CancelFunc

	mu            sync.Mutex
	stopRequested bool
	deadline      time.Time // of the grace period, if a stop was requested
	timer         *time.Timer
}

func newRun(spec supervisor.WorkerSpec, log *slog.Logger) *run {
	r := &run{spec: spec, log: log.With("monitor_id", string(spec.ID), "generation", spec.Generation), started: time.Now(), done: make(chan struct{})}
	r.force, r.forceStop = context.WithCancel(context.Background())
	r.ctx, r.requestStop = context.WithCancel(r.force)
	return r
}

// stop asks the worker to end, and forces it after the grace period. If stop is repeated,
// the earlier deadline counts.
func (r *run) stop(gracePeriod time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	deadline := time.Now().Add(gracePeriod)
	if r.stopRequested && !deadline.Before(r.deadline) {
		return
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.stopRequested, r.deadline = true, deadline
	r.requestStop()
	r.timer = time.AfterFunc(gracePeriod, func() {
		select {
		case <-r.done:
		default:
			r.log.Warn("worker did not end within its grace period, ending it by force", "grace_sec", gracePeriod.Seconds())
			r.forceStop()
		}
	})
}

func (r *run) isStopping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopRequested
}

// work runs the worker. It turns a panic into an error.
func (r *run) work(work WorkerFunc) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("worker panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work(r.ctx, r.force, r.spec)
}

// release frees the contexts and the timer of a run that has ended.
func (r *run) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	r.forceStop()
}

// exitDetail describes how a worker ended, for people.
func exitDetail(err error) string {
	if err == nil {
		return "ended"
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	if len(text) > maxDetail {
		text = text[:maxDetail]
	}
	if text = strings.ToValidUTF8(text, ""); text == "" {
		return "an error without a message"
	}
	return text
}
