package kube

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// page is how many pods one answer to a list has at most.
const page = 500

// pods is the worker pods of one installation. All that it does but create may
// be repeated, and is, when it fails for a reason that may pass.
type pods struct {
	*Cluster
	instance string
}

// list reads all worker pods, as they are now.
func (p pods) list(ctx context.Context) ([]corev1.Pod, error) {
	return p.listBy(ctx, common(p.instance).String())
}

func (c *Cluster) listBy(ctx context.Context, selector string) ([]corev1.Pod, error) {
	var all []corev1.Pod
	err := again(ctx, listLimit, func(ctx context.Context) error {
		all = nil
		for next := ""; ; {
			some, err := c.client.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector, Limit: page, Continue: next})
			if err != nil {
				return err
			}
			all = append(all, some.Items...)
			if next = some.Continue; next == "" {
				return nil
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the pods of namespace %s: %w", c.namespace, err)
	}
	return all, nil
}

// get reads a pod; nil: there is none of that name.
func (p pods) get(ctx context.Context, name string) (found *corev1.Pod, err error) {
	err = again(ctx, callLimit, func(ctx context.Context) error {
		found, err = p.client.CoreV1().Pods(p.namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", title(p.namespace, name), err)
	}
	return found, nil
}

// create makes a pod; nil: there is one of that name already. What was begun is
// finished, whatever becomes of ctx: nobody can stop a pod that is yet to come.
func (p pods) create(ctx context.Context, pod *corev1.Pod) (made *corev1.Pod, err error) {
	err = once(context.WithoutCancel(ctx), callLimit, func(ctx context.Context) error {
		made, err = p.client.CoreV1().Pods(p.namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("create %s: %w", title(p.namespace, pod.Name), err)
	}
	return made, nil
}

// remove asks for the end of this pod and of no successor of the same name. Asked
// for already, the shorter grace counts. With a grace of 0 nobody waits for its
// node. It tells that the pod is gone; else it will be.
func (p pods) remove(ctx context.Context, w worker, grace int64) (gone bool, err error) {
	err = again(ctx, callLimit, func(ctx context.Context) error {
		return p.client.CoreV1().Pods(p.namespace).Delete(ctx, w.name, metav1.DeleteOptions{
			GracePeriodSeconds: &grace,
			Preconditions:      &metav1.Preconditions{UID: &w.uid},
		})
	})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("delete %s: %w", title(p.namespace, w.name), err)
	}
	return false, nil
}

// gone tells whether a pod is not there any more.
func (p pods) gone(ctx context.Context, w worker) (bool, error) {
	found, err := p.get(ctx, w.name)
	return err == nil && (found == nil || found.UID != w.uid), err
}

// stuck is the error about a pod that goes not even by force; last is what went
// wrong before, if anything did.
func (p pods) stuck(ctx context.Context, w worker, last error) error {
	held := "look for its finalizers (metadata.finalizers)"
	if found, err := p.get(ctx, w.name); err == nil && found != nil && len(found.Finalizers) > 0 {
		held = "its finalizers hold it, which whoever set them must remove: " + strings.Join(found.Finalizers, ", ")
	}
	return withLast(fmt.Errorf("%s is still there after %d attempts to remove it by force; %s", title(p.namespace, w.name), maxForce, held), last)
}

// title is what a pod is called in errors.
func title(namespace, name string) string {
	return fmt.Sprintf("pod %s in namespace %s", name, namespace)
}
