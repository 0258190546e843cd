package localworkers

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// maxDetail is the maximum length of an exit's detail, in bytes.
const maxDetail = 300

// errNotReturned is the error of a worker whose goroutine neither returned nor panicked, but called
// runtime.Goexit.
var errNotReturned = errors.New("the worker's goroutine ended without returning")

// run is one worker, from its start until its exit is queued.
type run struct {
	Worker

	spec    supervisor.WorkerSpec
	log     *slog.Logger
	started time.Time
	done    chan struct{} // closed when the worker's exit is queued

	mu            sync.Mutex
	stopRequested bool
	deadline      time.Time // of the grace period, if a stop was requested
	timer         *time.Timer
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
	r.Ask()
	r.timer = time.AfterFunc(gracePeriod, func() {
		select {
		case <-r.done:
		default:
			r.log.Warn("worker did not end within its grace period, ending it by force", "grace_sec", gracePeriod.Seconds())
			r.Force()
		}
	})
}

func (r *run) isStopping() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopRequested
}

// ended stops the timer of a run that has ended.
func (r *run) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
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
