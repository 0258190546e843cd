package kube

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// maxMessageBytes is the maximum length of a quoted message of Kubernetes.
	maxMessageBytes = 200

	// crashLoopBackOff is the waiting reason of a container that has crashed at
	// least twice. The kubelet restarts it at once after the first crash, and 10, 20
	// and 40 s after the next ones. A run of longRun resets these pauses.
	crashLoopBackOff = "CrashLoopBackOff"
	longRun          = 10 * time.Minute

	// maxRestarts is how often the kubelet may restart a container since its last long run
	// before the worker counts as ended. The kubelet reports the fourth crash 45 to 60 s
	// after the first (measured).
	maxRestarts = 3

	// slowStartAfter is how long creating a container may take before it is logged.
	slowStartAfter = time.Minute
)

// workerEnd reports whether the worker in a pod has ended, and how. A worker whose container
// the kubelet will restart has not ended, unless maxRestarts restarts have failed. The
// first ignoredRestarts do not count.
func workerEnd(pod *corev1.Pod, ignoredRestarts int32) (ended bool, detail string, clean bool) {
	status := workerStatus(pod)
	restarts := status.RestartCount - ignoredRestarts
	terminated := status.State.Terminated
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return true, "exit code 0" + describeDisruption(pod), true
	case pod.Status.Phase == corev1.PodFailed && terminated == nil:
		return true, describe("its pod failed", pod.Status.Reason, pod.Status.Message) + describeDisruption(pod), false
	case pod.Status.Phase == corev1.PodFailed:
		return true, describeTermination(terminated) + describePodFailure(pod) + describeDisruption(pod), terminated.ExitCode == 0
	case terminated != nil && (terminated.ExitCode == 0 || pod.Spec.RestartPolicy == corev1.RestartPolicyNever):
		return true, describeTermination(terminated) + describeDisruption(pod), terminated.ExitCode == 0
	case status.State.Waiting != nil && status.State.Waiting.Reason == crashLoopBackOff && restarts >= maxRestarts:
		detail := "it crashes repeatedly"
		if last := status.LastTerminationState.Terminated; last != nil {
			detail += fmt.Sprintf(", %d times so far, the last time with %s", restarts+1, describeTermination(last))
		}
		return true, detail, false
	}
	return false, "", false
}

// deletedPodEnd describes how the worker ended in a deleted pod, from the pod's
// final state.
func deletedPodEnd(pod *corev1.Pod, ignoredRestarts int32) (detail string, clean bool) {
	if ended, detail, clean := workerEnd(pod, ignoredRestarts); ended {
		return detail, clean
	}
	detail = "its pod was deleted"
	switch status := workerStatus(pod); {
	case status.State.Terminated != nil:
		detail += ", " + describeTermination(status.State.Terminated)
	case status.State.Running != nil:
	case status.LastTerminationState.Terminated != nil:
		detail += " between two crashes, the last with " + describeTermination(status.LastTerminationState.Terminated)
	default:
		detail += " before it ran"
	}
	return detail + describeDisruption(pod), false
}

// restartsBeforeLongRun returns how many of a pod's restarts came before its container's
// last long run. If the status shows no long run, it returns all of them, and certain is
// false.
func restartsBeforeLongRun(status corev1.ContainerStatus, now time.Time) (restarts int32, certain bool) {
	running := status.State.Running
	switch {
	case running != nil && isLongRun(running.StartedAt.Time, now):
		return status.RestartCount, true
	case endedLongRun(status.State.Terminated):
		return status.RestartCount, true
	case endedLongRun(status.LastTerminationState.Terminated):
		return status.RestartCount - 1, true
	}
	return status.RestartCount, false
}

func endedLongRun(t *corev1.ContainerStateTerminated) bool {
	return t != nil && isLongRun(t.StartedAt.Time, t.FinishedAt.Time)
}

// isLongRun reports whether a run lasted at least longRun. It is false for a container that
// never ran, whose start is zero or in 1970.
func isLongRun(from, to time.Time) bool { return from.Unix() > 0 && to.Sub(from) >= longRun }

// workerStatus returns the status of the worker's container. It is zero before
// the kubelet has reported one.
func workerStatus(pod *corev1.Pod) corev1.ContainerStatus {
	i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == containerName })
	if i < 0 {
		return corev1.ContainerStatus{}
	}
	return pod.Status.ContainerStatuses[i]
}

func describeTermination(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason == "OOMKilled":
		return "out of memory: it was killed at the memory limit of its pod (OOMKilled)"
	case t.ExitCode == 128+9:
		return "killed by SIGKILL (exit code 137)"
	case t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed":
		return describe(fmt.Sprintf("exit code %d", t.ExitCode), t.Reason, t.Message)
	}
	return fmt.Sprintf("exit code %d", t.ExitCode)
}

// describePodFailure returns why a pod failed, or "" if it failed only because its container
// did.
func describePodFailure(pod *corev1.Pod) string {
	if pod.Status.Reason == "" {
		return ""
	}
	return "; " + describe("its pod failed", pod.Status.Reason, pod.Status.Message)
}

// describeDisruption returns why a pod was evicted, or "" if it was not.
func describeDisruption(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return "; " + describe("its pod was disrupted", c.Reason, c.Message)
		}
	}
	return ""
}

// describe joins a text, a reason of Kubernetes and its message, on one line and
// cut to maxMessageBytes.
func describe(text, reason, message string) string {
	if reason != "" {
		text += " (" + reason + ")"
	}
	if message = strings.Join(strings.Fields(message), " "); message == "" {
		return text
	}
	if len(message) > maxMessageBytes {
		message = strings.ToValidUTF8(message[:maxMessageBytes], "") + "…"
	}
	return text + ": " + message
}

// isPending reports whether the worker in a pod has not started yet: its container has never
// run, and the pod is not being deleted.
func isPending(pod *corev1.Pod) bool {
	status := workerStatus(pod)
	return pod.DeletionTimestamp == nil && status.RestartCount == 0 &&
		status.State.Running == nil && status.State.Terminated == nil && status.LastTerminationState.Terminated == nil
}

// pendingReason describes the newest problem of a pod whose worker does not run, for
// example "ImagePullBackOff: Back-off pulling image …". It returns "" without a problem.
func pendingReason(pod *corev1.Pod, now time.Time) string {
	if pod.DeletionTimestamp != nil || workerStatus(pod).State.Running != nil {
		return ""
	}
	problems := startProblems(pod, now)
	if len(problems) == 0 {
		return ""
	}
	newest := problems[len(problems)-1]
	return describe(newest.reason, "", newest.message)
}

// startProblem is a reason for which a container of a pod does not start, for example a
// missing node, image, volume or Secret. reason and message are those of Kubernetes.
type startProblem struct {
	reason  string
	message string
}

// startProblems lists the current problems of a pod, the newest last. It leaves out a crash
// of the worker's container, which logProblems and workerEnd report.
func startProblems(pod *corev1.Pod, now time.Time) (problems []startProblem) {
	scheduled := time.Time{}
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodScheduled {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			scheduled = c.LastTransitionTime.Time
		} else if c.Reason != "" {
			problems = append(problems, startProblem{c.Reason, c.Message})
		}
	}
	for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		waiting := status.State.Waiting
		switch {
		case waiting == nil:
		case waiting.Reason == "ContainerCreating", waiting.Reason == "PodInitializing", waiting.Reason == "":
			if !scheduled.IsZero() && now.Sub(scheduled) >= slowStartAfter {
				problems = append(problems, startProblem{"SlowStart", fmt.Sprintf(
					"its container is still being created after %v: its image may be large, or a volume, such as a Secret, is missing", slowStartAfter)})
			}
		case status.Name == containerName && waiting.Reason == crashLoopBackOff:
		default:
			problems = append(problems, startProblem{waiting.Reason, waiting.Message})
		}
	}
	return problems
}
