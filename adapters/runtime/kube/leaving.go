package kube

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// leaving is pods that were asked to go, and until when each has time to, by the
// clock of whoever waits.
type leaving struct {
	pods

	log    *slog.Logger
	due    map[types.UID]time.Time
	forced map[types.UID]bool
}

// ask deletes a pod unless that was done.
func (l *leaving) ask(ctx context.Context, pod *corev1.Pod, grace time.Duration) error {
	if _, asked := l.due[pod.UID]; !asked {
		if _, err := l.remove(ctx, worker{name: pod.Name, uid: pod.UID}, seconds(grace)); err != nil {
			return err
		}
	}
	return l.follow(ctx, pod, grace)
}

// follow waits for a pod that is being deleted, some seconds longer than its
// grace, beginning with the first call, and then removes it by force, once.
func (l *leaving) follow(ctx context.Context, pod *corev1.Pod, grace time.Duration) error {
	if l.due == nil {
		l.due, l.forced = map[types.UID]time.Time{}, map[types.UID]bool{}
	}
	due, known := l.due[pod.UID]
	if !known {
		l.due[pod.UID] = time.Now().Add(grace + forceAfter)
		return nil
	}
	if l.forced[pod.UID] || time.Now().Before(due) {
		return nil
	}
	l.log.Warn("a pod does not go, it is removed by force", "pod", pod.Name, "grace_sec", grace.Seconds())
	_, err := l.remove(ctx, worker{name: pod.Name, uid: pod.UID}, 0)
	l.forced[pod.UID] = err == nil
	return err
}

// graceOf is what a pod that is being deleted was given.
func graceOf(pod *corev1.Pod) time.Duration {
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return 0
}
