package kube_test

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
)

func TestAPodThatCannotStartIsWarnedOfOnceForEachReason(t *testing.T) {
	s := simulate(t)
	cfg, log := logged()
	l := open(t, s, cfg)
	p := running(t, s, l, job(launchertest.StopsWhenAsked))
	s.happens(p, func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
			Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"}}}
	})
	for range 3 {
		for _, reason := range []string{"ContainerCreating", "ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError"} {
			s.happens(p, func(p *corev1.Pod) {
				contain(p, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "because of " + reason}})
			})
		}
	}
	until(t, "the last", func() bool { return log.Count("because of CreateContainerConfigError") == 1 })
	for _, reason := range []string{"Unschedulable", "ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError"} {
		if n := log.Count(`"reason":"` + reason + `"`); n != 1 {
			t.Errorf("%s was said %d times", reason, n)
		}
	}
	if log.Count("ContainerCreating") != 0 {
		t.Error("what is usual was warned of")
	}
	expectNoExit(t, l)
}

// waits is a pod on a node whose container waits.
func waits(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		contain(p, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}})
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	}
}

func TestWorkersSayWhoIsStartingAndWhatKeepsThem(t *testing.T) {
	for name, c := range map[string]struct {
		what      func(*corev1.Pod)
		starting  bool
		hindrance string
	}{
		"it was just made": {func(*corev1.Pod) {}, true, ""},
		"there is no node for it": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
				Reason: "Unschedulable", Message: "0/1 nodes are available:\n1 Insufficient memory."}}
		}, true, "Unschedulable: 0/1 nodes are available: 1 Insufficient memory."},
		"its image is fetched":        {waits("ContainerCreating", ""), true, ""},
		"there is no such image":      {waits("ImagePullBackOff", "Back-off"), true, "ImagePullBackOff: Back-off"},
		"what is said of it is long":  {waits("ErrImagePull", strings.Repeat("x", 300)), true, "ErrImagePull: " + strings.Repeat("x", 200) + "…"},
		"what hinders has no message": {waits("CreateContainerError", ""), true, "CreateContainerError"},
		"the Secret has no such key":  {waits("CreateContainerConfigError", "couldn't find key HTTP_PROXY"), true, "CreateContainerConfigError: couldn't find key HTTP_PROXY"},
		"it runs": {func(p *corev1.Pod) {
			contain(p, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		}, false, ""},
		"it runs, and what is beside it does not": {func(p *corev1.Pod) {
			contain(p, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
			beside(p)
		}, false, ""},
		"it has crashed":                {func(p *corev1.Pod) { contain(p, corev1.PodRunning, terminated(1)) }, false, ""},
		"it is restarted after a pause": {paused(1, 1), false, ""},
		"it has run and cannot be made again": {func(p *corev1.Pod) {
			paused(1, 1)(p)
			p.Status.ContainerStatuses[0].State.Waiting.Reason = "CreateContainerError"
		}, false, "CreateContainerError"},
		"it has run, and its node has forgotten how it ended": {func(p *corev1.Pod) {
			waits("ContainerCreating", "")(p)
			p.Status.ContainerStatuses[0].RestartCount = 1
		}, false, ""},
		"of several troubles the newest": {func(p *corev1.Pod) {
			waits("ImagePullBackOff", "gone")(p)
			beside(p)
		}, true, "ErrImagePull: of another"},
		"it is being deleted": {func(p *corev1.Pod) {
			waits("ErrImagePull", "gone")(p)
			p.DeletionTimestamp = new(metav1.Now())
		}, false, ""},
	} {
		scenario(t, name, func(t *testing.T) {
			s := simulate(t)
			s.set(func(s *simulated) { s.noNode = true })
			l := open(t, s, settings())
			if err := l.Launch(t.Context(), job(launchertest.StopsWhenAsked)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			s.mu.Lock()
			p := s.pods[podName]
			s.mu.Unlock()
			s.happens(p, c.what)
			all, err := l.Workers(t.Context())
			if err != nil || len(all) != 1 || all[0].ID != job("").ID || all[0].Generation != 3 {
				t.Fatalf("got %+v, %v", all, err)
			}
			if all[0].Pending != c.starting || all[0].PendingReason != c.hindrance {
				t.Errorf("got %+v", all[0])
			}
		})
	}
}

// beside puts a container beside the worker's whose image is not there.
func beside(p *corev1.Pod) {
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "beside",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "of another"}}})
}
