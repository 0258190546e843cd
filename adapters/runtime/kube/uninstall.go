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
)

// lookEvery is how often an uninstallation looks what is left.
const lookEvery = time.Second

// Installation is what Uninstall ends.
type Installation struct {
	Deployment string        // of the gateways; required
	Instance   string        // of the worker pods, default stream-monitor (Config.Instance)
	Grace      time.Duration // what a worker gets, default 30 s (section 8.3)
	Log        *slog.Logger  // default: none
}

// Uninstall ends the gateways of an installation, so that nobody misses a worker
// or makes another, and then its worker pods: those who made them are gone, and
// Helm knows nothing of them. It blocks until they are gone or ctx is done, though
// the API server be away meanwhile, and may be repeated; a Deployment that is not
// there has no gateways. It needs to get deployments and to get and update
// deployments/scale, beside a Launcher's rights.
func Uninstall(ctx context.Context, c *Cluster, what Installation) error {
	if what.Deployment == "" {
		return errors.New("kube: Deployment is required")
	}
	if what.Instance == "" {
		what.Instance = appName
	}
	if what.Grace == 0 {
		what.Grace = 30 * time.Second
	}
	if what.Log == nil {
		what.Log = slog.New(slog.DiscardHandler)
	}
	keepKlog(what.Log)
	what.Log = what.Log.With("component", "kube")
	if err := c.endGateways(ctx, what); err != nil {
		return fmt.Errorf("uninstall: %w", err)
	}
	if err := c.endWorkers(ctx, what); err != nil {
		return fmt.Errorf("uninstall: %w", err)
	}
	return nil
}

// endGateways scales a Deployment to nothing and waits until its pods are gone;
// those that should be and whose node does not answer are removed by force.
func (c *Cluster) endGateways(ctx context.Context, what Installation) error {
	var selector string
	err := again(ctx, callLimit, func(ctx context.Context) error {
		d, err := c.client.AppsV1().Deployments(c.namespace).Get(ctx, what.Deployment, metav1.GetOptions{})
		if err == nil {
			selector = metav1.FormatLabelSelector(d.Spec.Selector)
		}
		return err
	})
	if apierrors.IsNotFound(err) {
		what.Log.Info("there is no gateway", "deployment", what.Deployment)
		return nil
	}
	if err == nil {
		err = again(ctx, callLimit, func(ctx context.Context) error { return c.scaleDown(ctx, what.Deployment) })
	}
	if err != nil {
		return fmt.Errorf("scale deployment %s in namespace %s to 0: %w", what.Deployment, c.namespace, err)
	}
	going := leaving{pods: pods{c, what.Instance}, log: what.Log}
	return c.until(ctx, what.Log, "gateways", func(ctx context.Context) ([]corev1.Pod, error) {
		all, err := c.listBy(ctx, selector)
		for i := range all {
			if of := &all[i]; of.DeletionTimestamp != nil {
				err = errors.Join(err, going.follow(ctx, of, graceOf(of)))
			}
		}
		return all, err
	})
}

// scaleDown is repeated when somebody else has scaled meanwhile.
func (c *Cluster) scaleDown(ctx context.Context, deployment string) error {
	for {
		scale, err := c.client.AppsV1().Deployments(c.namespace).GetScale(ctx, deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		scale.Spec.Replicas = 0
		_, err = c.client.AppsV1().Deployments(c.namespace).UpdateScale(ctx, deployment, scale, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) || !wait(ctx, firstPause) {
			return err
		}
	}
}

// endWorkers deletes the worker pods, those whose node does not answer by force.
func (c *Cluster) endWorkers(ctx context.Context, what Installation) error {
	going := leaving{pods: pods{c, what.Instance}, log: what.Log}
	return c.until(ctx, what.Log, "workers", func(ctx context.Context) ([]corev1.Pod, error) {
		all, err := going.list(ctx)
		for i := range all {
			err = errors.Join(err, going.ask(ctx, &all[i], what.Grace))
		}
		return all, err
	})
}

// until looks every now and then until nothing is left. A look that fails is
// followed by another, after a pause that grows, until ctx is done.
func (c *Cluster) until(ctx context.Context, log *slog.Logger, what string, look func(context.Context) ([]corev1.Pod, error)) error {
	last, known := -1, "an unknown number of"
	var trouble error
	for failures := 0; ; {
		left, err := look(ctx)
		pause := lookEvery
		switch {
		case ctx.Err() != nil:
		case err != nil:
			trouble, pause = err, min(lookEvery<<min(failures, 10), maxPause)
			failures++
			log.Warn("cannot end the pods of this installation, will try again", "of", what, "error", err.Error(), "pause_sec", pause.Seconds())
		default:
			trouble, failures = nil, 0
			if len(left) != last {
				last, known = len(left), strconv.Itoa(len(left))
				log.Info("ending the pods of "+what, "left", last)
			}
			if last == 0 {
				return nil
			}
		}
		if !wait(ctx, pause) {
			return withLast(fmt.Errorf("%s pods of %s are left in namespace %s: %w", known, what, c.namespace, ctx.Err()), trouble)
		}
	}
}
