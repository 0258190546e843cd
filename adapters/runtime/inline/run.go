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

// maxDetail is how much of an error an exit tells, in bytes.
const maxDetail = 300

// errVanished is the end of a worker that neither returned nor panicked
// (runtime.Goexit).
var errVanished = errors.New("the worker's goroutine ended without returning")

// run is one worker, from its start until it is gone.
type run struct {
	job     supervisor.WorkerSpec
	log     *slog.Logger
	started time.Time
	done    chan struct{} // closed by the run's goroutine: its exit is queued

	ctx, force  context.Context
	ask, hasten context.CancelFunc

	mu    sync.Mutex
	asked bool
	by    time.Time // when it will be forced, once asked
	timer *time.Timer
}

func newRun(j supervisor.WorkerSpec, log *slog.Logger) *run {
	r := &run{job: j, log: log.With("monitor_id", string(j.ID), "generation", j.Generation), started: time.Now(), done: make(chan struct{})}
	r.force, r.hasten = context.WithCancel(context.Background())
	r.ctx, r.ask = context.WithCancel(r.force)
	return r
}

// end asks the worker to end, and forces it after grace. Asked again, the
// shorter grace counts.
func (r *run) end(grace time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := time.Now().Add(grace)
	if r.asked && !by.Before(r.by) {
		return
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.asked, r.by = true, by
	r.ask()
	r.timer = time.AfterFunc(grace, func() {
		select {
		case <-r.done:
		default:
			r.log.Warn("worker did not end when asked, ending it by force", "grace_sec", grace.Seconds())
			r.hasten()
		}
	})
}

func (r *run) ending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// live does the work and contains its panic.
func (r *run) live(work WorkerFunc) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("worker panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work(r.ctx, r.force, r.job)
}

// retire gives back what a run that is over has held.
func (r *run) retire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	r.hasten()
}

// detail says how a worker ended, for people.
func detail(err error) string {
	if err == nil {
		return "ended"
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	if len(text) > maxDetail {
		text = text[:maxDetail]
	}
	if text = strings.ToValidUTF8(text, ""); text == "" {
		return "an error without words"
	}
	return text
}
