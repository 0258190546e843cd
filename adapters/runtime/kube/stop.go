package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Stop deletes the pod of a monitor's worker, with the grace period Config.Grace, and by
// force 5 s after that. It returns when the pod is gone. If ctx is done first, it returns
// ctx's error, and the launcher finishes the deletion. Errors: ctx's; ErrClosed; a request
// to the API server failed; a finalizer keeps the pod.
func (l *Launcher) Stop(ctx context.Context, id monitor.ID) error {
	var err error
	select {
	case err = <-l.stopInBackground(id):
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("stop %s: %w", id, err)
	}
	return nil
}

// stopInBackground stops a worker even if the caller of Stop does not wait. It sends the
// result on the channel.
func (l *Launcher) stopInBackground(id monitor.ID) <-chan error {
	result := make(chan error, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		result <- ErrClosed
		return result
	}
	l.unsentStops.Add(1)
	l.unsentStopCount.Add(1)
	markSent := sync.OnceFunc(func() { l.unsentStopCount.Add(-1); l.unsentStops.Done() })
	l.goroutines.Go(func() {
		defer markSent()
		result <- l.stop(l.ctx, id, markSent)
	})
	return result
}

func (l *Launcher) stop(ctx context.Context, id monitor.ID, markSent func()) error {
	found, err := l.pods.get(ctx, id.WorkerName())
	if err != nil || found == nil {
		return err
	}
	p, owned := parseWorkerPod(found, l.cfg.Instance)
	if !owned {
		return nil
	}
	return l.terminate(ctx, p, l.cfg.Grace, markSent)
}

// terminate deletes a pod and blocks until it is gone. It calls markSent when the
// API server has accepted the deletion.
//
// If a pod still exists forceDelay after its grace period, its node does not answer, and
// terminate force-deletes the pod. Its container may go on there; the gateway refuses its
// reports (decision O2). Errors: the pod still exists after maxForceAttempts, because it
// has a finalizer or the API server does not answer.
func (l *Launcher) terminate(ctx context.Context, p workerPod, grace time.Duration, markSent func()) error {
	gone, err := l.pods.delete(ctx, p, wholeSeconds(grace))
	if gone || err != nil {
		return err
	}
	markSent()
	force := time.NewTimer(grace + forceDelay)
	defer force.Stop()
	poll := time.NewTicker(gonePollInterval)
	defer poll.Stop()
	var last error
	for attempts := 0; ; {
		select {
		case <-l.cache.removed(p.uid):
			return nil
		case <-poll.C:
			gone, err = l.pods.isGone(ctx, p)
		case <-force.C:
			if attempts == maxForceAttempts {
				return l.pods.stuckError(ctx, p, last)
			}
			if attempts++; attempts == 1 {
				l.log.Warn("a worker's pod was not gone after its grace period, deleting it by force", "monitor_id", string(p.ID),
					"generation", p.Generation, "pod", p.name, "grace_sec", grace.Seconds())
			}
			gone, err = l.pods.delete(ctx, p, 0)
			force.Reset(forceDelay)
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

// deleteEnded deletes the pod of an ended worker (section 8.4), in the background. Every
// gateway tries, and one succeeds. The next resync retries a failed deletion.
func (l *Launcher) deleteEnded(p workerPod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.deleting[p.uid] {
		return
	}
	l.deleting[p.uid] = true
	l.goroutines.Go(func() {
		_, err := l.pods.delete(l.ctx, p, wholeSeconds(supersedeGrace))
		if err != nil && l.ctx.Err() == nil {
			l.log.Warn("the pod of an ended worker could not be deleted, will try again", "monitor_id", string(p.ID),
				"generation", p.Generation, "pod", p.name, "error", err.Error())
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.deleting, p.uid)
	})
}
