package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/backoff"
)

// uninstallPollInterval is how often Uninstall lists the remaining pods.
const uninstallPollInterval = time.Second

var uninstallBackoff = backoff.Policy{First: uninstallPollInterval, Max: maxBackoff}

// Installation names the installation that Uninstall removes.
type Installation struct {
	Deployment string        // of the gateways; required
	Namespace  string        // of the Deployment; default: the Cluster's, in which the worker pods are
	Instance   string        // label of the worker pods; default: stream-monitor (Config.Instance)
	Grace      time.Duration // how long a worker has to stop (section 8.3); default: 30 s
	Log        *slog.Logger  // default: none
}

// Uninstall stops the gateways of an installation, and then deletes its worker pods, which
// Helm does not manage. In this order no gateway launches a worker again or reports a lost
// one.
//
// It blocks until all pods are gone or ctx is done. It retries while the API server does
// not answer, and may be repeated. If the Deployment does not exist, it only deletes the
// worker pods. In addition to a Launcher's rights it needs the rights to get deployments,
// and to get and update deployments/scale. Errors: Deployment is empty; the Deployment
// cannot be scaled; ctx is done before all pods are gone.
func Uninstall(ctx context.Context, c *Cluster, installation Installation) error {
	if installation.Deployment == "" {
		return errors.New("kube: Deployment is required")
	}
	if installation.Instance == "" {
		installation.Instance = appName
	}
	if installation.Grace == 0 {
		installation.Grace = defaultGrace
	}
	if installation.Log == nil {
		installation.Log = slog.New(slog.DiscardHandler)
	}
	redirectKlog(installation.Log)
	installation.Log = installation.Log.With("component", "kube")
	if err := c.WithNamespace(installation.Namespace).stopGateways(ctx, installation); err != nil {
		return fmt.Errorf("uninstall: %w", err)
	}
	if err := c.deleteWorkers(ctx, installation); err != nil {
		return fmt.Errorf("uninstall: %w", err)
	}
	return nil
}

// stopGateways scales the Deployment to 0 and waits until its pods are gone.
// Terminating pods on a node that does not answer are force-deleted.
func (c *Cluster) stopGateways(ctx context.Context, installation Installation) error {
	var selector string
	err := retry(ctx, requestTimeout, func(ctx context.Context) error {
		deployment, err := c.client.AppsV1().Deployments(c.namespace).Get(ctx, installation.Deployment, metav1.GetOptions{})
		if err == nil {
			selector = metav1.FormatLabelSelector(deployment.Spec.Selector)
		}
		return err
	})
	if apierrors.IsNotFound(err) {
		installation.Log.Info("the deployment does not exist, so there is no gateway to stop", "deployment", installation.Deployment)
		return nil
	}
	if err == nil {
		err = retry(ctx, requestTimeout, func(ctx context.Context) error { return c.scaleToZero(ctx, installation.Deployment) })
	}
	if err != nil {
		return fmt.Errorf("scale deployment %s in namespace %s to 0: %w", installation.Deployment, c.namespace, err)
	}
	terminating := newTerminatingPods(c, installation)
	return c.waitUntilNoneLeft(ctx, installation.Log, "gateways", func(ctx context.Context) ([]corev1.Pod, error) {
		left, err := c.listSelected(ctx, selector)
		for i := range left {
			if pod := &left[i]; pod.DeletionTimestamp != nil {
				err = errors.Join(err, terminating.forceWhenOverdue(ctx, pod, gracePeriod(pod)))
			}
		}
		return left, err
	})
}

// scaleToZero scales a Deployment to 0. It retries if somebody else has changed the
// Deployment meanwhile.
func (c *Cluster) scaleToZero(ctx context.Context, deployment string) error {
	for {
		scale, err := c.client.AppsV1().Deployments(c.namespace).GetScale(ctx, deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		scale.Spec.Replicas = 0
		_, err = c.client.AppsV1().Deployments(c.namespace).UpdateScale(ctx, deployment, scale, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) || !wait.For(ctx, initialBackoff) {
			return err
		}
	}
}

func (c *Cluster) deleteWorkers(ctx context.Context, installation Installation) error {
	terminating := newTerminatingPods(c, installation)
	return c.waitUntilNoneLeft(ctx, installation.Log, "workers", func(ctx context.Context) ([]corev1.Pod, error) {
		left, err := terminating.list(ctx)
		for i := range left {
			err = errors.Join(err, terminating.delete(ctx, &left[i], installation.Grace))
		}
		return left, err
	})
}

// waitUntilNoneLeft calls step until it returns no pods, or ctx is done. step
// returns the pods that still exist. After an error it is called again, with a
// backoff.
func (c *Cluster) waitUntilNoneLeft(ctx context.Context, log *slog.Logger, role string, step func(context.Context) ([]corev1.Pod, error)) error {
	lastCount, known := -1, "an unknown number of"
	var lastError error
	for failures := 0; ; {
		left, err := step(ctx)
		pause := uninstallPollInterval
		switch {
		case ctx.Err() != nil:
		case err != nil:
			lastError, pause = err, uninstallBackoff.Delay(failures+1)
			failures++
			log.Warn("cannot delete all pods of this installation, will try again", "role", role, "error", err.Error(), "pause_sec", pause.Seconds())
		default:
			lastError, failures = nil, 0
			if len(left) != lastCount {
				lastCount, known = len(left), strconv.Itoa(len(left))
				log.Info("waiting until the pods of the "+role+" are gone", "left", lastCount)
			}
			if lastCount == 0 {
				return nil
			}
		}
		if !wait.For(ctx, pause) {
			return withLast(fmt.Errorf("%s pods of the %s are left in namespace %s: %w", known, role, c.namespace, ctx.Err()), lastError)
		}
	}
}

// terminatingPods holds the deadlines of terminating pods. A pod's grace period starts at
// the first call, by this process's clock.
type terminatingPods struct {
	podClient

	log       *slog.Logger
	deadlines map[types.UID]time.Time // after which a pod is force-deleted
	forced    map[types.UID]bool
}

func newTerminatingPods(c *Cluster, installation Installation) *terminatingPods {
	return &terminatingPods{
		podClient: podClient{c, installation.Instance}, log: installation.Log,
		deadlines: map[types.UID]time.Time{}, forced: map[types.UID]bool{},
	}
}

// delete deletes a pod at the first call, and by force when it is overdue.
func (t *terminatingPods) delete(ctx context.Context, pod *corev1.Pod, grace time.Duration) error {
	if _, requested := t.deadlines[pod.UID]; !requested {
		if _, err := t.podClient.delete(ctx, workerPod{name: pod.Name, uid: pod.UID}, wholeSeconds(grace)); err != nil {
			return err
		}
	}
	return t.forceWhenOverdue(ctx, pod, grace)
}

// forceWhenOverdue force-deletes a terminating pod, once, when it has outlived its
// grace period by forceDelay.
func (t *terminatingPods) forceWhenOverdue(ctx context.Context, pod *corev1.Pod, grace time.Duration) error {
	deadline, known := t.deadlines[pod.UID]
	if !known {
		t.deadlines[pod.UID] = time.Now().Add(grace + forceDelay)
		return nil
	}
	if t.forced[pod.UID] || time.Now().Before(deadline) {
		return nil
	}
	t.log.Warn("a pod was not gone after its grace period, deleting it by force", "pod", pod.Name, "grace_sec", grace.Seconds())
	_, err := t.podClient.delete(ctx, workerPod{name: pod.Name, uid: pod.UID}, 0)
	t.forced[pod.UID] = err == nil
	return err
}

// gracePeriod returns the grace period of a terminating pod.
func gracePeriod(pod *corev1.Pod) time.Duration {
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return 0
}
