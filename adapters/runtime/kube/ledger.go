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
	// doubt is how long a pod that lists do not show may be on its way: the watch
	// comes to know, and knows better how it ended.
	doubt = 5 * time.Second

	// burial is how long a pod that is gone is remembered, so that an answer that
	// was under way when it went does not bring it back. No call takes as long.
	burial = 5 * time.Minute
)

// ledger is what is known of the worker pods, from three sources that may
// overtake each other: the watch, lists, and answers to single requests. What
// identifies a pod is its UID; each ends once.
type ledger struct {
	instance string
	log      *slog.Logger
	exits    *exitqueue.Queue[supervisor.Exit]
	ended    func(worker)  // its pod is to be deleted; must not block
	opened   chan struct{} // closed when the watch has shown all pods
	open     func()

	mu      sync.Mutex
	entries map[types.UID]*entry
	buried  map[types.UID]time.Time
}

// entry is one pod, from when it is first seen until it is gone.
type entry struct {
	worker
	since    time.Time // when it was first seen
	watched  bool      // the watch has shown it
	missed   time.Time // when a list first did not show it
	told     bool      // its end
	gone     chan struct{}
	warned   map[string]bool // of what reasons
	restarts int32
	forgiven int32       // of these: what verdict does not count
	last     *corev1.Pod // while its container has not started
}

func newLedger(instance string, out *exitqueue.Queue[supervisor.Exit], ended func(worker), log *slog.Logger) *ledger {
	opened := make(chan struct{})
	return &ledger{
		instance: instance, log: log, exits: out, ended: ended, opened: opened, open: sync.OnceFunc(func() { close(opened) }),
		entries: map[types.UID]*entry{}, buried: map[types.UID]time.Time{},
	}
}

// see takes up what a pod looks like.
func (l *ledger) see(pod *corev1.Pod, byWatch bool) {
	w, ours := identify(pod, l.instance)
	if !ours {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, over := l.buried[w.uid]; over {
		return
	}
	n, known := forgiven(statusOf(pod), time.Now())
	e := l.entries[w.uid]
	if e == nil {
		e = &entry{worker: w, since: time.Now(), gone: make(chan struct{}), warned: map[string]bool{}, forgiven: n}
		l.entries[w.uid] = e
	}
	e.watched = e.watched || byWatch
	e.missed = time.Time{}
	if known {
		e.forgiven = max(e.forgiven, n)
	}
	if ended, how, clean := verdict(pod, e.forgiven); ended {
		l.tell(e, how, clean)
		if pod.DeletionTimestamp == nil {
			l.ended(w)
		}
		return
	}
	l.warn(e, pod)
}

// bury takes up that a pod is gone; last is what was seen of it then, if it was.
func (l *ledger) bury(uid types.UID, last *corev1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for old, at := range l.buried {
		if time.Since(at) > burial {
			delete(l.buried, old)
		}
	}
	l.buried[uid] = time.Now()
	e := l.entries[uid]
	if e == nil {
		return
	}
	how, clean := "its pod has vanished; nobody saw how it ended", false
	if last != nil {
		how, clean = removed(last, e.forgiven)
	}
	l.tell(e, how, clean)
	delete(l.entries, uid)
	close(e.gone)
}

// over tells whether the worker of a pod that was just seen has ended.
func (l *ledger) over(pod *corev1.Pod) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, _ := forgiven(statusOf(pod), time.Now())
	if e := l.entries[pod.UID]; e != nil {
		n = e.forgiven
	}
	ended, _, _ := verdict(pod, n)
	return ended
}

// tell delivers an end. Whoever calls it holds mu.
func (l *ledger) tell(e *entry, how string, clean bool) {
	if e.told {
		return
	}
	e.told, e.last = true, nil
	l.log.Info("worker ended", "monitor_id", string(e.ID), "generation", e.Generation, "detail", how, "clean", clean)
	l.exits.Add(supervisor.Exit{ID: e.ID, Generation: e.Generation, Detail: how, Clean: clean})
}

// warn says why a pod cannot start, and that its container was restarted, once
// for each reason. Whoever calls it holds mu.
func (l *ledger) warn(e *entry, pod *corev1.Pod) {
	e.last = nil
	if statusOf(pod).State.Running == nil && pod.DeletionTimestamp == nil {
		e.last = pod
		for _, t := range troubles(pod, time.Now()) {
			if !e.warned[t.reason] {
				e.warned[t.reason] = true
				l.log.Warn("a worker's pod cannot start", "monitor_id", string(e.ID), "generation", e.Generation,
					"pod", e.name, "reason", t.reason, "message", t.message)
			}
		}
	}
	if s := statusOf(pod); s.RestartCount > e.restarts {
		e.restarts = s.RestartCount
		how := "it is not known how it ended"
		if last := s.LastTerminationState.Terminated; last != nil {
			how = said(last)
		}
		l.log.Warn("a worker crashed and was restarted in its pod", "monitor_id", string(e.ID), "generation", e.Generation,
			"pod", e.name, "restarts", s.RestartCount, "detail", how)
	}
}

// compare takes up a list of all pods that was asked for at a time. What it does
// not show, and another that came a while later neither, is gone.
func (l *ledger) compare(list []corev1.Pod, asked time.Time) {
	shown := map[types.UID]bool{}
	for i := range list {
		shown[list[i].UID] = true
		l.see(&list[i], false)
	}
	for _, uid := range l.absent(shown, asked) {
		l.bury(uid, nil)
	}
}

func (l *ledger) absent(shown map[types.UID]bool, asked time.Time) (gone []types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid, e := range l.entries {
		switch {
		case shown[uid] || !e.since.Before(asked):
		case e.missed.IsZero():
			e.missed = asked
		case asked.Sub(e.missed) >= doubt:
			gone = append(gone, uid)
		}
	}
	return gone
}

// goneBy is closed when a pod is gone.
func (l *ledger) goneBy(uid types.UID) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.entries[uid]; e != nil {
		return e.gone
	}
	if _, over := l.buried[uid]; over {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return nil
}
