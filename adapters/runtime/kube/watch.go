package kube

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	pauses "github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/backoff"
)

// maxBackoff is the longest pause between two attempts to watch or to uninstall.
const maxBackoff = 5 * time.Second

var watchBackoff = backoff.Policy{First: initialBackoff, Max: maxBackoff}

// podListWatch lists and watches the worker pods for a reflector. It requests plain lists,
// because streaming lists have no time limit.
type podListWatch struct{ cache.ListWatch }

// IsWatchListSemanticsUnSupported makes a reflector use plain lists.
func (podListWatch) IsWatchListSemanticsUnSupported() bool { return true }

// listWatch returns the requests of the reflector. It tells the cache why a request has
// failed, and when the watch has begun.
func (c podClient) listWatch(cached *podCache) *podListWatch {
	selector := workerLabels(c.instance).String()
	return &podListWatch{cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (list runtime.Object, err error) {
			o.LabelSelector = selector
			err = withTimeout(ctx, listTimeout, func(ctx context.Context) error {
				list, err = c.client.CoreV1().Pods(c.namespace).List(ctx, o)
				return err
			})
			if err != nil {
				cached.setWatchError(err)
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			o.TimeoutSeconds = new(wholeSeconds(watchTimeout))
			changes, err := c.client.CoreV1().Pods(c.namespace).Watch(ctx, o)
			cached.setWatchError(err)
			return changes, err
		},
	}}
}

// watch updates the cache until ctx is done, first by a list and then by the changes since.
// If the API server no longer has the changes, watch lists again.
func (l *Launcher) watch(ctx context.Context) {
	logger := logr.FromSlogHandler(l.log.Handler())
	reflector := cache.NewReflectorWithOptions(l.pods.listWatch(l.cache), &corev1.Pod{}, reflectorStore{l.cache}, cache.ReflectorOptions{
		Logger: &logger, Name: "worker pods", ResyncPeriod: resyncInterval,
		Backoff: &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 4, Cap: maxBackoff},
	})
	ctx = klog.NewContext(ctx, logger)
	for failures := 0; ctx.Err() == nil; {
		err := reflector.ListAndWatchWithContext(ctx)
		failures++
		if err == nil {
			failures = 0
		}
		pause := watchBackoff.Delay(failures + 1)
		if err != nil && ctx.Err() == nil {
			l.log.Warn("cannot watch the worker pods, will try again", "error", err.Error(), "pause_sec", pause.Seconds())
		}
		pauses.For(ctx, pause)
	}
}

// reflectorStore passes the pods of a reflector to the cache.
type reflectorStore struct{ *podCache }

var _ cache.ReflectorStore = reflectorStore{}

// Add implements cache.ReflectorStore.
func (s reflectorStore) Add(object any) error { return s.Update(object) }

// Update implements cache.ReflectorStore.
func (s reflectorStore) Update(object any) error {
	if pod, isPod := object.(*corev1.Pod); isPod {
		s.observe(pod)
	}
	return nil
}

// Delete implements cache.ReflectorStore. The reflector also calls it for a pod that has lost
// the labels of the selection.
func (s reflectorStore) Delete(object any) error {
	if pod, isPod := object.(*corev1.Pod); isPod {
		s.remove(pod.UID, pod)
	}
	return nil
}

// Replace implements cache.ReflectorStore with a list of all pods. A known pod that the list
// lacks is gone, unless the list is older.
func (s reflectorStore) Replace(all []any, version string) error {
	listed := map[types.UID]bool{}
	for _, object := range all {
		if pod, isPod := object.(*corev1.Pod); isPod {
			listed[pod.UID] = true
			s.observe(pod)
		}
	}
	for _, uid := range s.unlisted(listed, version) {
		s.remove(uid, nil)
	}
	s.setWatchError(nil)
	s.markSynced()
	return nil
}

// Resync implements cache.ReflectorStore.
func (s reflectorStore) Resync() error {
	s.resync()
	return nil
}

var klogRedirected sync.Once

// redirectKlog sends the log of Kubernetes' client library to log (section 11.1) instead of
// standard error. A process has one klog, so only the first call has an effect.
func redirectKlog(log *slog.Logger) {
	klogRedirected.Do(func() { klog.SetSlogLogger(log.With("component", "kube")) })
}
