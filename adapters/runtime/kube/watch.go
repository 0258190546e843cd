package kube

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/backoff"
)

// maxBackoff is the longest pause between two attempts to list the pods or to uninstall.
const maxBackoff = 5 * time.Second

var listBackoff = backoff.Policy{First: initialBackoff, Max: maxBackoff}

// podListWatch lists and watches the worker pods for an informer. It requests plain lists,
// because streaming lists have no time limit.
type podListWatch struct{ cache.ListWatch }

// IsWatchListSemanticsUnSupported makes an informer use plain lists.
func (podListWatch) IsWatchListSemanticsUnSupported() bool { return true }

// newInformer returns an informer of the worker pods. It tells the cache of pods, and why they
// cannot be watched.
func (c podClient) newInformer(cached *podCache) (cache.SharedInformer, error) {
	selector := workerLabels(c.instance).String()
	pods := c.client.CoreV1().Pods(c.namespace)
	informer := cache.NewSharedInformer(&podListWatch{cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (list runtime.Object, err error) {
			o.LabelSelector = selector
			err = cached.retryList(ctx, func(ctx context.Context) error {
				list, err = pods.List(ctx, o)
				return err
			})
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			o.TimeoutSeconds = new(wholeSeconds(watchTimeout))
			changes, err := pods.Watch(ctx, o)
			cached.setWatchError(err)
			if err != nil {
				err = fmt.Errorf("watch: %v", err) //nolint:errorlint // hides what the informer would try again after up to a minute, instead of a list
			}
			return changes, err
		},
	}}, &corev1.Pod{}, resyncInterval)
	handler, err := informer.AddEventHandler(cached)
	if err == nil {
		cached.synced = handler.HasSyncedChecker().Done()
		err = informer.SetWatchErrorHandlerWithContext(cached.logWatchError)
	}
	return informer, err
}

// logWatchError logs why a list or a watch has failed. The informer lists again.
func (c *podCache) logWatchError(ctx context.Context, _ *cache.Reflector, err error) {
	if ctx.Err() == nil {
		c.log.Warn("cannot watch the worker pods, will try again", "error", err.Error())
	}
}

// retryList lists until it succeeds. The informer itself would wait for up to a minute after some
// failures. Errors: ctx's; the list has too many pages and took too long.
func (c *podCache) retryList(ctx context.Context, list func(context.Context) error) error {
	for failures := 1; ; failures++ {
		err := withTimeout(ctx, listTimeout, list)
		if err == nil || ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return err
		}
		c.setWatchError(err)
		pause := listBackoff.Delay(failures)
		c.log.Warn("cannot watch the worker pods, will try again", "error", err.Error(), "pause_sec", pause.Seconds())
		if !wait.For(ctx, pause) {
			return ctx.Err()
		}
	}
}

var klogRedirected sync.Once

// redirectKlog sends the log of Kubernetes' client library to log (section 11.1) instead of
// standard error. A process has one klog, so only the first call has an effect.
func redirectKlog(log *slog.Logger) {
	klogRedirected.Do(func() { klog.SetSlogLogger(log.With("component", "kube")) })
}
