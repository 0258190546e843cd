package kube

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// pendingTerm is how long a pod may take to start, its image aside, until
// somebody should look.
const pendingTerm = time.Minute

// trouble is what keeps a container of a pod from running, in the cluster's
// words: it is waiting for a node, an image, a volume, a Secret.
type trouble struct {
	reason  string
	message string
}

// startless tells that the worker in a pod cannot have begun: its container has
// never run, and may yet.
func startless(pod *corev1.Pod) bool {
	s := statusOf(pod)
	return pod.DeletionTimestamp == nil && s.RestartCount == 0 &&
		s.State.Running == nil && s.State.Terminated == nil && s.LastTerminationState.Terminated == nil
}

// hindrance is the newest trouble of a pod whose worker does not run and may yet,
// for people: "ImagePullBackOff: Back-off pulling image …". Without one it is
// empty.
func hindrance(pod *corev1.Pod, now time.Time) string {
	if pod.DeletionTimestamp != nil || statusOf(pod).State.Running != nil {
		return ""
	}
	all := troubles(pod, now)
	if len(all) == 0 {
		return ""
	}
	newest := all[len(all)-1]
	return words(newest.reason, "", newest.message)
}

// troubles are those of a pod as it is now, the newest last: it has a node before
// its containers are made. That the worker's own has crashed is none: it is said
// when it is restarted, or is the end (verdict).
func troubles(pod *corev1.Pod, now time.Time) (all []trouble) {
	scheduled := time.Time{}
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodScheduled {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			scheduled = c.LastTransitionTime.Time
		} else if c.Reason != "" {
			all = append(all, trouble{c.Reason, c.Message})
		}
	}
	for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		waiting := s.State.Waiting
		switch {
		case waiting == nil:
		case waiting.Reason == "ContainerCreating", waiting.Reason == "PodInitializing", waiting.Reason == "":
			if !scheduled.IsZero() && now.Sub(scheduled) >= pendingTerm {
				all = append(all, trouble{"SlowStart", fmt.Sprintf(
					"its container is still being made after %v: its image may be large, or a volume, such as a Secret, is missing", pendingTerm)})
			}
		case s.Name == containerName && waiting.Reason == crashLoop:
		default:
			all = append(all, trouble{waiting.Reason, waiting.Message})
		}
	}
	return all
}
