package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// beginStop stops in the background, and tells when it is done.
func (l *Launcher) beginStop(id monitor.ID) <-chan error {
	done := make(chan error, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		done <- ErrClosed
		return done
	}
	l.asking.Add(1)
	l.unheard.Add(1)
	asked := sync.OnceFunc(func() { l.unheard.Add(-1); l.asking.Done() })
	l.owned.Go(func() {
		defer asked()
		done <- l.stop(l.alive, id, asked)
	})
	return done
}

func (l *Launcher) stop(ctx context.Context, id monitor.ID, asked func()) error {
	there, err := l.pods.get(ctx, id.WorkerName())
	if err != nil || there == nil {
		return err
	}
	w, ours := identify(there, l.cfg.Instance)
	if !ours {
		return nil
	}
	l.ledger.see(there, false)
	return l.end(ctx, w, l.cfg.Grace, asked)
}

// end deletes a pod and blocks until it is gone. asked is called when the API
// server knows. A pod that is still there some seconds after its grace is on a
// node that does not answer, and is removed by force: should its container run on
// there, its reports are refused (decision O2). What force does not remove has a
// finalizer, and is somebody else's to let go: that is an error, as is a force
// that could not be asked for, after the third time.
func (l *Launcher) end(ctx context.Context, w worker, grace time.Duration, asked func()) error {
	gone, err := l.pods.remove(ctx, w, seconds(grace))
	if gone || err != nil {
		return err
	}
	asked()
	force := time.NewTimer(grace + forceAfter)
	defer force.Stop()
	look := time.NewTicker(pollEvery)
	defer look.Stop()
	seen := l.ledger.goneBy(w.uid)
	var last error
	for forced := 0; ; {
		select {
		case <-seen:
			return nil
		case <-look.C:
			gone, err = l.pods.gone(ctx, w)
		case <-force.C:
			if forced == maxForce {
				return l.pods.stuck(ctx, w, last)
			}
			if forced++; forced == 1 {
				l.log.Warn("a worker's pod does not go, it is removed by force", "monitor_id", string(w.ID),
					"generation", w.Generation, "pod", w.name, "grace_sec", grace.Seconds())
			}
			gone, err = l.pods.remove(ctx, w, 0)
			force.Reset(forceAfter)
		case <-ctx.Done():
			return withLast(ctx.Err(), last)
		}
		switch {
		case gone:
			return nil
		case err != nil:
			last = err
		}
	}
}

// withLast is an error that ended a wait, with the last that was met on the way,
// if there is one that is not the same.
func withLast(err, last error) error {
	if last == nil || errors.Is(last, err) {
		return err
	}
	return fmt.Errorf("%w; the last that went wrong: %w", err, last)
}

// clear deletes a pod whose worker has ended (section 8.4), in the background.
// Every gateway does; one of them succeeds, and the others find it gone. What
// fails is tried again with the next resync.
func (l *Launcher) clear(w worker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.clearing[w.uid] {
		return
	}
	l.clearing[w.uid] = true
	l.owned.Go(func() {
		_, err := l.pods.remove(l.alive, w, seconds(handover))
		if err != nil && l.alive.Err() == nil {
			l.log.Warn("the pod of a worker that has ended could not be deleted, will try again", "monitor_id", string(w.ID),
				"generation", w.Generation, "pod", w.name, "error", err.Error())
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.clearing, w.uid)
	})
}

func (l *Launcher) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
