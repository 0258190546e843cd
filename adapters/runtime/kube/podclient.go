package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stream-monitor/stream-monitor/application/wait"
)

const (
	requestTimeout = 10 * time.Second // of one request to the API server
	listTimeout    = 30 * time.Second // of a list of all pods

	maxAttempts    = 3
	initialBackoff = 200 * time.Millisecond // doubled after each attempt

	listPageSize = 500
)

// podClient reads and writes the worker pods of one installation. Every request
// but a creation is retried when its failure may be temporary.
type podClient struct {
	*Cluster
	instance string
}

// list reads all worker pods from the API server, for Uninstall.
func (c podClient) list(ctx context.Context) ([]corev1.Pod, error) {
	return c.listSelected(ctx, workerLabels(c.instance).String())
}

func (c *Cluster) listSelected(ctx context.Context, selector string) ([]corev1.Pod, error) {
	var all []corev1.Pod
	err := retry(ctx, listTimeout, func(ctx context.Context) error {
		all = nil
		for token := ""; ; {
			page, err := c.client.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: listPageSize, Continue: token})
			if err != nil {
				return err
			}
			all = append(all, page.Items...)
			if token = page.Continue; token == "" {
				return nil
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the pods of namespace %s: %w", c.namespace, err)
	}
	return all, nil
}

// get reads a pod. It returns nil if no pod has that name.
func (c podClient) get(ctx context.Context, name string) (found *corev1.Pod, err error) {
	err = retry(ctx, requestTimeout, func(ctx context.Context) error {
		found, err = c.client.CoreV1().Pods(c.namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", podTitle(c.namespace, name), err)
	}
	return found, nil
}

// create creates a pod. It returns nil if a pod has that name already. It waits for the
// response even if ctx is done: otherwise a pod might appear that nobody stops.
func (c podClient) create(ctx context.Context, pod *corev1.Pod) (created *corev1.Pod, err error) {
	err = withTimeout(context.WithoutCancel(ctx), requestTimeout, func(ctx context.Context) error {
		created, err = c.client.CoreV1().Pods(c.namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("create %s: %w", podTitle(c.namespace, pod.Name), err)
	}
	return created, nil
}

// delete asks the API server to delete this pod, and not a newer one with the same name.
// grace is in seconds; a second call may shorten it. With 0 the API server deletes the pod
// without waiting for its node. gone reports that the pod does not exist.
func (c podClient) delete(ctx context.Context, p workerPod, grace int64) (gone bool, err error) {
	err = retry(ctx, requestTimeout, func(ctx context.Context) error {
		return c.client.CoreV1().Pods(c.namespace).Delete(ctx, p.name, metav1.DeleteOptions{
			GracePeriodSeconds: &grace,
			Preconditions:      &metav1.Preconditions{UID: &p.uid},
		})
	})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("delete %s: %w", podTitle(c.namespace, p.name), err)
	}
	return false, nil
}

// isGone asks the API server whether a pod no longer exists.
func (c podClient) isGone(ctx context.Context, p workerPod) (bool, error) {
	found, err := c.get(ctx, p.name)
	return err == nil && (found == nil || found.UID != p.uid), err
}

// stuckError describes a pod that still exists after the last forced deletion. last is the
// last error of a request, or nil.
func (c podClient) stuckError(ctx context.Context, p workerPod, last error) error {
	advice := "look for its finalizers (metadata.finalizers)"
	if found, err := c.get(ctx, p.name); err == nil && found != nil && len(found.Finalizers) > 0 {
		advice = "its finalizers keep it; remove them, or repair the controllers that set them: " + strings.Join(found.Finalizers, ", ")
	}
	return withLast(fmt.Errorf("%s still exists after %d forced deletions; %s", podTitle(c.namespace, p.name), maxForceAttempts, advice), last)
}

func podTitle(namespace, name string) string {
	return fmt.Sprintf("pod %s in namespace %s", name, namespace)
}

// withLast adds the last error during a wait to the error that ended the wait.
func withLast(err, last error) error {
	if last == nil || errors.Is(last, err) {
		return err
	}
	return fmt.Errorf("%w; the last error before that: %w", err, last)
}

func withTimeout(ctx context.Context, timeout time.Duration, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return request(ctx)
}

// retry makes a request up to maxAttempts times. It returns at once when an
// error is not temporary. timeout is that of one attempt.
func retry(ctx context.Context, timeout time.Duration, request func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := withTimeout(ctx, timeout, request)
		if err == nil || attempt == maxAttempts || !isTemporary(err) || !wait.For(ctx, initialBackoff<<(attempt-1)) {
			return err
		}
	}
}

// isTemporary reports whether a request may succeed later. That is so if the API server
// says so, or did not respond.
func isTemporary(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}
