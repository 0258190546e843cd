package kube

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/stream-monitor/stream-monitor/adapters/internal/exitqueue"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// errNotListed is why no workers are known before the watch has delivered its first list.
var errNotListed = errors.New("the API server has not listed the worker pods yet")

// podCache holds the last known state of the worker pods, by UID, and reports each end
// once. An informer tells it of them.
type podCache struct {
	instance string
	log      *slog.Logger
	exits    *exitqueue.Queue[supervisor.Exit]
	onEnd    func(workerPod) // deletes the pod; must not block
	synced   <-chan struct{} // closed when the informer has told the first list

	mu       sync.Mutex
	pods     map[types.UID]*cachedPod
	watchErr error // why the pods cannot be watched now; nil: they are
}

var _ cache.ResourceEventHandler = (*podCache)(nil)

// cachedPod is one pod, from the first observation until its removal.
type cachedPod struct {
	workerPod
	last    *corev1.Pod     // its newest state
	ended   bool            // its end has been reported
	removed chan struct{}   // closed when it is removed
	logged  map[string]bool // the startProblem reasons that were logged

	restarts        int32 // restarts already logged
	ignoredRestarts int32 // restarts before the last long run
}

func newPodCache(instance string, exits *exitqueue.Queue[supervisor.Exit], onEnd func(workerPod), log *slog.Logger) *podCache {
	return &podCache{
		instance: instance, log: log, exits: exits, onEnd: onEnd, pods: map[types.UID]*cachedPod{},
	}
}

// OnAdd implements cache.ResourceEventHandler.
func (c *podCache) OnAdd(object any, _ bool) {
	if pod, isPod := object.(*corev1.Pod); isPod {
		c.observe(pod)
	}
}

// OnUpdate implements cache.ResourceEventHandler. It is also called for every pod each
// resyncInterval. The pod may be another one, of the same name, if its removal was missed.
func (c *podCache) OnUpdate(before, object any) {
	if old, isPod := before.(*corev1.Pod); isPod {
		if pod, isPod := object.(*corev1.Pod); isPod {
			if old.UID != pod.UID {
				c.remove(old.UID, nil)
			}
			c.observe(pod)
		}
	}
}

// OnDelete implements cache.ResourceEventHandler. It is also called for a pod that has lost
// the labels of the selection, and for one whose removal was missed.
func (c *podCache) OnDelete(object any) {
	switch gone := object.(type) {
	case *corev1.Pod:
		c.remove(gone.UID, gone)
	case cache.DeletedFinalStateUnknown:
		if pod, isPod := gone.Obj.(*corev1.Pod); isPod {
			c.remove(pod.UID, nil)
		}
	}
}

// workers lists the workers that have not ended, the newest one of each monitor. Errors: the
// pods cannot be watched now, so the workers are not known. refuses reports whether the gateway
// refuses the requests of a pod's worker.
func (c *podCache) workers(now time.Time, refuses func(*corev1.Pod, supervisor.Worker) bool) ([]supervisor.Worker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.synced:
	default:
		return nil, errors.Join(errNotListed, c.watchErr)
	}
	if c.watchErr != nil {
		return nil, c.watchErr
	}
	newest := map[monitor.ID]supervisor.Worker{}
	for _, entry := range c.pods {
		if entry.ended || newest[entry.ID].Generation > entry.Generation {
			continue
		}
		w := entry.Worker
		w.Pending, w.PendingReason = isPending(entry.last), pendingReason(entry.last, now)
		w.Refused = refuses(entry.last, w)
		newest[w.ID] = w
	}
	return slices.Collect(maps.Values(newest)), nil
}

// setWatchError stores why the pods cannot be watched, or nil once they are.
func (c *podCache) setWatchError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchErr = err
}

// observe stores the newest state of a pod, and reports its worker's end.
func (c *podCache) observe(pod *corev1.Pod) {
	p, owned := parseWorkerPod(pod, c.instance)
	if !owned {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	restarts, certain := restartsBeforeLongRun(workerStatus(pod), time.Now())
	entry := c.pods[p.uid]
	if entry == nil {
		entry = &cachedPod{workerPod: p, removed: make(chan struct{}), logged: map[string]bool{}, ignoredRestarts: restarts}
		c.pods[p.uid] = entry
	}
	entry.last = pod
	if certain {
		entry.ignoredRestarts = max(entry.ignoredRestarts, restarts)
	}
	if ended, detail, clean := workerEnd(pod, entry.ignoredRestarts); ended {
		c.reportEnd(entry, detail, clean)
		if pod.DeletionTimestamp == nil {
			c.onEnd(p)
		}
		return
	}
	c.logProblems(entry, pod)
}

// remove records that a pod is gone. last is its final state, or nil if it is unknown.
func (c *podCache) remove(uid types.UID, last *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.pods[uid]
	if entry == nil {
		return
	}
	detail, clean := "its pod has vanished; how it ended is unknown", false
	if last != nil {
		detail, clean = deletedPodEnd(last, entry.ignoredRestarts)
	}
	c.reportEnd(entry, detail, clean)
	delete(c.pods, uid)
	close(entry.removed)
}

// hasEnded reports whether the worker of a pod that was just read has ended.
func (c *podCache) hasEnded(pod *corev1.Pod) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	restarts, _ := restartsBeforeLongRun(workerStatus(pod), time.Now())
	if entry := c.pods[pod.UID]; entry != nil {
		restarts = entry.ignoredRestarts
	}
	ended, _, _ := workerEnd(pod, restarts)
	return ended
}

// reportEnd delivers the end of a worker, once. The caller holds mu.
func (c *podCache) reportEnd(entry *cachedPod, detail string, clean bool) {
	if entry.ended {
		return
	}
	entry.ended = true
	c.log.Info("worker ended", "monitor_id", string(entry.ID), "generation", entry.Generation, "detail", detail, "clean", clean)
	c.exits.Add(supervisor.Exit{ID: entry.ID, Generation: entry.Generation, Detail: detail, Clean: clean})
}

// logProblems logs why a pod cannot start, once for each reason, and every
// restart of its container. The caller holds mu.
func (c *podCache) logProblems(entry *cachedPod, pod *corev1.Pod) {
	status := workerStatus(pod)
	if status.State.Running == nil && pod.DeletionTimestamp == nil {
		for _, problem := range startProblems(pod, time.Now()) {
			if !entry.logged[problem.reason] {
				entry.logged[problem.reason] = true
				c.log.Warn("a worker's pod cannot start", "monitor_id", string(entry.ID), "generation", entry.Generation,
					"pod", entry.name, "reason", problem.reason, "message", problem.message)
			}
		}
	}
	if status.RestartCount > entry.restarts {
		entry.restarts = status.RestartCount
		detail := "how it ended is unknown"
		if last := status.LastTerminationState.Terminated; last != nil {
			detail = describeTermination(last)
		}
		c.log.Warn("a worker crashed and was restarted in its pod", "monitor_id", string(entry.ID), "generation", entry.Generation,
			"pod", entry.name, "restarts", status.RestartCount, "detail", detail)
	}
}

// removed returns a channel that is closed when the pod is removed. It is nil for
// a pod that the cache does not know.
func (c *podCache) removed(uid types.UID) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry := c.pods[uid]; entry != nil {
		return entry.removed
	}
	return nil
}
