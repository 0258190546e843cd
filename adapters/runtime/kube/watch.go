package kube

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	retries "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// maxPause is how long the watch waits at most before it tries again.
const maxPause = 5 * time.Second

// source lists and watches the worker pods. It asks for lists, which are bounded
// in time, rather than for streams that begin with one.
type source struct{ cache.ListWatch }

// IsWatchListSemanticsUnSupported is what a reflector asks for that.
func (source) IsWatchListSemanticsUnSupported() bool { return true }

func (p pods) source() *source {
	selector := common(p.instance).String()
	return &source{cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (list runtime.Object, err error) {
			o.LabelSelector = selector
			err = once(ctx, listLimit, func(ctx context.Context) error {
				list, err = p.client.CoreV1().Pods(p.namespace).List(ctx, o)
				return err
			})
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			return p.client.CoreV1().Pods(p.namespace).Watch(ctx, o)
		},
	}}
}

// watch keeps the ledger up to date until ctx is done: a list, then what changes;
// after a gap that the API server cannot fill, a list again.
func (l *Launcher) watch(ctx context.Context) {
	logger := logr.FromSlogHandler(l.log.Handler())
	r := cache.NewReflectorWithOptions(l.pods.source(), &corev1.Pod{}, book{l.ledger}, cache.ReflectorOptions{
		Logger: &logger, Name: "worker pods", ResyncPeriod: resyncEvery,
		Backoff: &retries.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 4, Cap: maxPause},
	})
	ctx = klog.NewContext(ctx, logger)
	for failures := 0; ctx.Err() == nil; {
		err := r.ListAndWatchWithContext(ctx)
		failures++
		if err == nil {
			failures = 0
		}
		pause := min(firstPause<<min(failures, 10), maxPause)
		if err != nil && ctx.Err() == nil {
			l.log.Warn("cannot watch the worker pods, will try again", "error", err.Error(), "pause_sec", pause.Seconds())
		}
		wait(ctx, pause)
	}
}

// book is the ledger as the watch writes into it.
type book struct{ *ledger }

var _ cache.ReflectorStore = book{}

// Add implements cache.ReflectorStore.
func (b book) Add(object any) error { return b.Update(object) }

// Update implements cache.ReflectorStore.
func (b book) Update(object any) error {
	if pod, is := object.(*corev1.Pod); is {
		b.see(pod, true)
	}
	return nil
}

// Delete implements cache.ReflectorStore. A pod may also leave the view by
// losing its labels; it is not watched any more, then.
func (b book) Delete(object any) error {
	if pod, is := object.(*corev1.Pod); is {
		b.bury(pod.UID, pod)
	}
	return nil
}

// Replace implements cache.ReflectorStore: a list, of all that there is as far as
// the watch has come. What it has shown before and is not there now went
// meanwhile.
func (b book) Replace(all []any, _ string) error {
	shown := map[types.UID]bool{}
	for _, object := range all {
		if pod, is := object.(*corev1.Pod); is {
			shown[pod.UID] = true
			b.see(pod, true)
		}
	}
	for _, uid := range b.unshown(shown) {
		b.bury(uid, nil)
	}
	b.open()
	return nil
}

func (b book) unshown(shown map[types.UID]bool) (gone []types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for uid, e := range b.entries {
		if e.watched && !shown[uid] {
			gone = append(gone, uid)
		}
	}
	return gone
}

// Resync implements cache.ReflectorStore: pods that have ended and are still
// there are deleted again, and those that take long to start are warned of.
func (b book) Resync() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		switch {
		case e.told:
			b.ended(e.worker)
		case e.last != nil:
			b.warn(e, e.last)
		}
	}
	return nil
}
