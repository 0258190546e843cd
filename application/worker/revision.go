package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// revisionFollower requests the assignment again when an answer of the gateway names a
// newer revision of the configuration (section 16.6). It has a goroutine of its own, so
// that neither a check nor a report with an alert waits for that exchange.
type revisionFollower struct {
	w       *Worker
	known   int64                   // the revision that the loop has; only the follower's goroutine uses it
	newest  atomic.Int64            // the newest revision that an answer has named
	wake    chan struct{}           // receives when newest has grown
	changed chan monitor.Assignment // to the loop
}

func newRevisionFollower(w *Worker, assigned int) *revisionFollower {
	f := &revisionFollower{w: w, known: int64(assigned), wake: make(chan struct{}, 1), changed: make(chan monitor.Assignment)}
	f.newest.Store(int64(assigned))
	return f
}

// note notes the revision of an answer. Only the reporter's goroutine calls it.
func (f *revisionFollower) note(revision int) {
	if int64(revision) <= f.newest.Load() {
		return
	}
	f.newest.Store(int64(revision))
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// start runs the follower until the returned function is called, which waits for it. A
// panic is passed to endWorker.
func (f *revisionFollower) start(endWorker func(error)) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := recoverPanic(f.w.log, "following revisions", func() error {
			for f.awaitNewer(ctx) {
				f.follow(ctx)
			}
			return nil
		})
		if err != nil {
			endWorker(err)
		}
	}()
	return func() { cancel(); <-done }
}

func (f *revisionFollower) awaitNewer(ctx context.Context) bool {
	select {
	case <-f.wake:
		return true
	case <-ctx.Done():
		return false
	}
}

// follow requests the assignment until it has the newest revision, and passes it to the
// loop. A worker that was replaced gives up: the answer to its next report ends it.
func (f *revisionFollower) follow(ctx context.Context) {
	lastWarned := time.Time{}
	for attempts := 1; f.known < f.newest.Load(); attempts++ {
		began := time.Now()
		a, err := f.w.requestAssignment(ctx, attemptTimeout)
		switch {
		case err == nil && int64(a.Revision) > f.known:
			select {
			case f.changed <- a:
				f.known = int64(a.Revision)
			case <-ctx.Done():
				return
			}
			continue
		case isReplaced(err):
			return
		case err != nil && ctx.Err() == nil && time.Since(lastWarned) >= warnInterval:
			lastWarned = time.Now()
			f.w.log.Warn("The changed configuration could not be requested; monitoring goes on by the old one, trying again", "error", err, "failures", attempts)
		}
		if !wait.For(ctx, gatewayBackoff.Delay(attempts)-time.Since(began)) {
			return
		}
	}
}
