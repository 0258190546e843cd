package kube

import (
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stream-monitor/stream-monitor/adapters/internal/exitqueue"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

const (
	// missingGrace is the minimum time between two lists without a pod before the pod
	// counts as gone. The watch usually reports the deletion earlier, with the final state.
	missingGrace = 5 * time.Second

	// removedRetention is how long the UID of a removed pod is kept, so that a late
	// response does not add the pod again. No request takes that long.
	removedRetention = 5 * time.Minute
)

// podCache holds the last known state of the worker pods, by UID, and reports each end
// once. It gets states from the watch, from lists and from the responses to single
// requests, in any order.
type podCache struct {
	instance   string
	log        *slog.Logger
	exits      *exitqueue.Queue[supervisor.Exit]
	onEnd      func(workerPod) // deletes the pod; must not block
	synced     chan struct{}   // closed when the watch has delivered its first list
	markSynced func()

	mu           sync.Mutex
	pods         map[types.UID]*cachedPod
	removedSince map[types.UID]time.Time
}

// cachedPod is one pod, from the first observation until its removal.
type cachedPod struct {
	workerPod
	firstSeen time.Time
	watched   bool            // the watch has delivered it
	missing   time.Time       // when a list first lacked it; zero: the last list had it
	ended     bool            // its end has been reported
	removed   chan struct{}   // closed when it is removed
	logged    map[string]bool // the startProblem reasons that were logged

	restarts        int32 // restarts already logged
	ignoredRestarts int32 // restarts before the last long run

	notRunning *corev1.Pod // the last state, while the container does not run; otherwise nil
}

func newPodCache(instance string, exits *exitqueue.Queue[supervisor.Exit], onEnd func(workerPod), log *slog.Logger) *podCache {
	synced := make(chan struct{})
	return &podCache{
		instance: instance, log: log, exits: exits, onEnd: onEnd, synced: synced, markSynced: sync.OnceFunc(func() { close(synced) }),
		pods: map[types.UID]*cachedPod{}, removedSince: map[types.UID]time.Time{},
	}
}

// observe stores the current state of a pod, and reports its worker's end.
func (c *podCache) observe(pod *corev1.Pod, byWatch bool) {
	p, owned := parseWorkerPod(pod, c.instance)
	if !owned {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, removed := c.removedSince[p.uid]; removed {
		return
	}
	restarts, certain := restartsBeforeLongRun(workerStatus(pod), time.Now())
	entry := c.pods[p.uid]
	if entry == nil {
		entry = &cachedPod{workerPod: p, firstSeen: time.Now(), removed: make(chan struct{}), logged: map[string]bool{}, ignoredRestarts: restarts}
		c.pods[p.uid] = entry
	}
	entry.watched = entry.watched || byWatch
	entry.missing = time.Time{}
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
	for old, at := range c.removedSince {
		if time.Since(at) > removedRetention {
			delete(c.removedSince, old)
		}
	}
	c.removedSince[uid] = time.Now()
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
	entry.ended, entry.notRunning = true, nil
	c.log.Info("worker ended", "monitor_id", string(entry.ID), "generation", entry.Generation, "detail", detail, "clean", clean)
	c.exits.Add(supervisor.Exit{ID: entry.ID, Generation: entry.Generation, Detail: detail, Clean: clean})
}

// logProblems logs why a pod cannot start, once for each reason, and every
// restart of its container. The caller holds mu.
func (c *podCache) logProblems(entry *cachedPod, pod *corev1.Pod) {
	entry.notRunning = nil
	status := workerStatus(pod)
	if status.State.Running == nil && pod.DeletionTimestamp == nil {
		entry.notRunning = pod
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

// reconcile compares the cache with a list of all pods. A pod is gone when two
// lists, requested at least missingGrace apart, lack it.
func (c *podCache) reconcile(list []corev1.Pod, requested time.Time) {
	listed := map[types.UID]bool{}
	for i := range list {
		listed[list[i].UID] = true
		c.observe(&list[i], false)
	}
	for _, uid := range c.missingFrom(listed, requested) {
		c.remove(uid, nil)
	}
}

func (c *podCache) missingFrom(listed map[types.UID]bool, requested time.Time) (gone []types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, entry := range c.pods {
		switch {
		case listed[uid] || !entry.firstSeen.Before(requested):
		case entry.missing.IsZero():
			entry.missing = requested
		case requested.Sub(entry.missing) >= missingGrace:
			gone = append(gone, uid)
		}
	}
	return gone
}

// unlisted returns the pods that the watch has delivered before and that are not listed.
func (c *podCache) unlisted(listed map[types.UID]bool) (gone []types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, entry := range c.pods {
		if entry.watched && !listed[uid] {
			gone = append(gone, uid)
		}
	}
	return gone
}

// resync deletes the ended pods that still exist, and logs the pods that take long to
// start.
func (c *podCache) resync() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, entry := range c.pods {
		switch {
		case entry.ended:
			c.onEnd(entry.workerPod)
		case entry.notRunning != nil:
			c.logProblems(entry, entry.notRunning)
		}
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
	if _, removed := c.removedSince[uid]; removed {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return nil
}
