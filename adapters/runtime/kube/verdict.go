package kube

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// maxMessage is how much of what Kubernetes says is passed on, in bytes.
	maxMessage = 200

	// crashLoop is what a container waits for that has crashed a second time: its
	// kubelet restarts it at once after the first crash, and 10, 20, 40 s after the
	// next ones. Once it has run for longRun that begins anew.
	crashLoop = "CrashLoopBackOff"
	longRun   = 10 * time.Minute

	// maxRestarts is how many restarts since the last long run did not help when it
	// is waited for no more: the worker has crashed four times. Its kubelet says so
	// 45 to 60 s after the first: it looks every few seconds only.
	maxRestarts = 3
)

// verdict tells whether the worker in a pod has ended, and how. A container that
// crashed and that its kubelet restarts in place, at once or after a pause, has
// not; one that three restarts beyond the forgiven did not help has.
func verdict(pod *corev1.Pod, forgiven int32) (ended bool, how string, clean bool) {
	s := statusOf(pod)
	restarts := s.RestartCount - forgiven
	final := s.State.Terminated
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return true, "exit code 0" + disruption(pod), true
	case pod.Status.Phase == corev1.PodFailed && final == nil:
		return true, words("its pod failed", pod.Status.Reason, pod.Status.Message) + disruption(pod), false
	case pod.Status.Phase == corev1.PodFailed:
		return true, said(final) + reasonOf(pod) + disruption(pod), final.ExitCode == 0
	case final != nil && (final.ExitCode == 0 || pod.Spec.RestartPolicy == corev1.RestartPolicyNever):
		return true, said(final) + disruption(pod), final.ExitCode == 0
	case s.State.Waiting != nil && s.State.Waiting.Reason == crashLoop && restarts >= maxRestarts:
		how := "it crashes again and again"
		if last := s.LastTerminationState.Terminated; last != nil {
			how += fmt.Sprintf(", %d times by now, the last time with %s", restarts+1, said(last))
		}
		return true, how, false
	}
	return false, "", false
}

// forgiven is how many restarts of a container came before its last long run;
// RestartCount is of the pod's whole life. If what is seen of it does not tell,
// it is at most all of them.
func forgiven(s corev1.ContainerStatus, now time.Time) (restarts int32, known bool) {
	running := s.State.Running
	switch {
	case running != nil && isLong(running.StartedAt.Time, now):
		return s.RestartCount, true
	case ranLong(s.State.Terminated):
		return s.RestartCount, true
	case ranLong(s.LastTerminationState.Terminated):
		return s.RestartCount - 1, true
	}
	return s.RestartCount, false
}

func ranLong(t *corev1.ContainerStateTerminated) bool {
	return t != nil && isLong(t.StartedAt.Time, t.FinishedAt.Time)
}

// isLong tells whether a run was long. One that did not come about began in 1970,
// or has no time at all.
func isLong(from, to time.Time) bool { return from.Unix() > 0 && to.Sub(from) >= longRun }

// removed tells how the worker ended in a pod that was deleted, from the last
// that was seen of it.
func removed(pod *corev1.Pod, forgiven int32) (how string, clean bool) {
	if ended, how, clean := verdict(pod, forgiven); ended {
		return how, clean
	}
	how = "its pod was deleted"
	switch s := statusOf(pod); {
	case s.State.Terminated != nil:
		how += ", " + said(s.State.Terminated)
	case s.State.Running != nil:
	case s.LastTerminationState.Terminated != nil:
		how += " between two crashes, the last with " + said(s.LastTerminationState.Terminated)
	default:
		how += " before it ran"
	}
	return how + disruption(pod), false
}

// statusOf is what is known of the worker's container.
func statusOf(pod *corev1.Pod) corev1.ContainerStatus {
	i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == containerName })
	if i < 0 {
		return corev1.ContainerStatus{}
	}
	return pod.Status.ContainerStatuses[i]
}

// said is how a container ended.
func said(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason == "OOMKilled":
		return "out of memory: it was killed at the limit of its pod (OOMKilled)"
	case t.ExitCode == 128+9:
		return "killed by SIGKILL (exit code 137)"
	case t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed":
		return words(fmt.Sprintf("exit code %d", t.ExitCode), t.Reason, t.Message)
	}
	return fmt.Sprintf("exit code %d", t.ExitCode)
}

// reasonOf is why a pod failed, if not because its container did.
func reasonOf(pod *corev1.Pod) string {
	if pod.Status.Reason == "" {
		return ""
	}
	return "; " + words("its pod failed", pod.Status.Reason, pod.Status.Message)
}

// disruption is who has taken a pod away.
func disruption(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return "; " + words("it had to go", c.Reason, c.Message)
		}
	}
	return ""
}

// words puts together what is said, its short name, and the long text.
func words(what, name, text string) string {
	if name != "" {
		what += " (" + name + ")"
	}
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return what
	}
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return what + ": " + text
}
