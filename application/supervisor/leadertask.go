package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/backoff"
)

// LeaderTask is periodic work of the elected gateway (decision O5), such as deleting
// old rows. A leader learns within seconds that another one has taken over, so Run
// must do no harm when two gateways run it at once.
type LeaderTask struct {
	Name  string        // in log messages
	Every time.Duration // from the end of one run to the beginning of the next, more than 0

	// Run does the work once. It ends soon after its context. The task runs again
	// after an error.
	Run func(context.Context) error

	// Lasting says that Run goes on until its context is done: when this gateway is not the leader any more, in place of
	// leaderTaskTimeout.
	Lasting bool
}

const (
	leaderTaskTimeout  = time.Minute // bounds one run of a LeaderTask
	leaderTaskInterval = time.Second // how often a lasting one looks whether this gateway is still the leader
)

// leaderTaskBackoff is the pause that failures of a LeaderTask add.
var leaderTaskBackoff = backoff.Policy{First: time.Second, Max: time.Minute}

func checkLeaderTasks(tasks []LeaderTask) error {
	for i, t := range tasks {
		if t.Name == "" || t.Every <= 0 || t.Run == nil {
			return fmt.Errorf("supervisor: LeaderTasks[%d] %q needs a name, a function and an interval above 0", i, t.Name)
		}
	}
	return nil
}

// leaderTasks runs the tasks of the elected gateway.
type leaderTasks struct {
	tasks    []LeaderTask
	isLeader *atomic.Bool // whether this gateway was the leader at the last election
	log      *slog.Logger
}

// run runs all tasks until ctx is done.
func (l *leaderTasks) run(ctx context.Context) {
	var all sync.WaitGroup
	for _, t := range l.tasks {
		all.Go(func() { l.repeat(ctx, t) })
	}
	all.Wait()
}

// once runs a task once.
func (l *leaderTasks) once(ctx context.Context, t LeaderTask) error {
	if !t.Lasting {
		return attempt(ctx, leaderTaskTimeout, t.Run)
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		for l.isLeader.Load() && wait.For(ctx, leaderTaskInterval) {
		}
		cancel()
	})
	defer watching.Wait()
	defer cancel()
	return t.Run(ctx)
}

// repeat runs one task while this gateway is the leader. After failures the
// pause doubles, so that the task does not load a database that fails.
func (l *leaderTasks) repeat(ctx context.Context, t LeaderTask) {
	log := l.log.With("task", t.Name)
	failures := 0
	for pause := t.Every; wait.For(ctx, pause); {
		if !l.isLeader.Load() {
			pause, failures = t.Every, 0
			continue
		}
		err := l.once(ctx, t)
		switch {
		case err == nil:
			pause, failures = t.Every, 0
		case errors.Is(ctx.Err(), context.Canceled):
			return
		default:
			failures++
			pause = max(t.Every, leaderTaskBackoff.Delay(failures))
			log.Warn("a periodic task of the elected gateway failed, will try again", "error", err.Error(), "pause_sec", pause.Seconds())
		}
	}
}
