package kube_test

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAPodThatCannotStartIsLoggedOnceForEachReason(t *testing.T) {
	cfg, log := settingsWithLog()
	cluster, l, p := startWorker(t, cfg, launchertest.StopsWhenAsked)
	cluster.updatePod(p, func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
			Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"}}}
	})
	for range 3 {
		for _, reason := range []string{"ContainerCreating", "ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError"} {
			cluster.updatePod(p, func(p *corev1.Pod) {
				setContainer(p, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "because of " + reason}})
			})
		}
	}
	waitFor(t, "the last warning", func() bool { return log.Count("because of CreateContainerConfigError") == 1 })
	for _, reason := range []string{"Unschedulable", "ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError"} {
		if n := log.Count(`"reason":"` + reason + `"`); n != 1 {
			t.Errorf("%s was logged %d times", reason, n)
		}
	}
	if log.Count("ContainerCreating") != 0 {
		t.Error("ContainerCreating was logged")
	}
	expectNoExit(t, l)
}

// waits is a scheduled pod whose container waits.
func waits(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		setContainer(p, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}})
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	}
}

func TestWorkersReportsPendingPodsAndTheirReason(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*corev1.Pod)
		pending bool
		reason  string
	}{
		"it was just created": {func(*corev1.Pod) {}, true, ""},
		"no node has room for it": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
				Reason: "Unschedulable", Message: "0/1 nodes are available:\n1 Insufficient memory."}}
		}, true, "Unschedulable: 0/1 nodes are available: 1 Insufficient memory."},
		"its image is being pulled":  {waits("ContainerCreating", ""), true, ""},
		"its image does not exist":   {waits("ImagePullBackOff", "Back-off"), true, "ImagePullBackOff: Back-off"},
		"a long message is cut":      {waits("ErrImagePull", strings.Repeat("x", 300)), true, "ErrImagePull: " + strings.Repeat("x", 200) + "…"},
		"the reason has no message":  {waits("CreateContainerError", ""), true, "CreateContainerError"},
		"the Secret has no such key": {waits("CreateContainerConfigError", "couldn't find key HTTP_PROXY"), true, "CreateContainerConfigError: couldn't find key HTTP_PROXY"},
		"it runs": {func(p *corev1.Pod) {
			setContainer(p, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		}, false, ""},
		"it runs, and another container does not": {func(p *corev1.Pod) {
			setContainer(p, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
			addSidecar(p)
		}, false, ""},
		"it has crashed":                {func(p *corev1.Pod) { setContainer(p, corev1.PodRunning, terminated(1)) }, false, ""},
		"it is restarted after a pause": {backingOff(1, 1), false, ""},
		"it has run and its container cannot be created again": {func(p *corev1.Pod) {
			backingOff(1, 1)(p)
			p.Status.ContainerStatuses[0].State.Waiting.Reason = "CreateContainerError"
		}, false, "CreateContainerError"},
		"it has run, and its last termination is not known": {func(p *corev1.Pod) {
			waits("ContainerCreating", "")(p)
			p.Status.ContainerStatuses[0].RestartCount = 1
		}, false, ""},
		"the newest of several problems": {func(p *corev1.Pod) {
			waits("ImagePullBackOff", "gone")(p)
			addSidecar(p)
		}, true, "ErrImagePull: the sidecar's image"},
		"it is terminating": {func(p *corev1.Pod) {
			waits("ErrImagePull", "gone")(p)
			p.DeletionTimestamp = new(metav1.Now())
		}, false, ""},
	} {
		scenario(t, name, func(t *testing.T) {
			cluster := newFakeCluster(t)
			cluster.set(func(f *fakeCluster) { f.nodeDown = true })
			l := newLauncher(t, cluster, settings())
			mustLaunch(t, l, workerSpec(launchertest.StopsWhenAsked))
			synctest.Wait()
			p := cluster.pod(podName)
			cluster.updatePod(p, c.change)
			synctest.Wait()
			all, err := l.Workers(t.Context())
			if err != nil || len(all) != 1 || all[0].ID != workerSpec("").ID || all[0].Generation != 3 {
				t.Fatalf("got %+v, %v", all, err)
			}
			if all[0].Pending != c.pending || all[0].PendingReason != c.reason {
				t.Errorf("got %+v", all[0])
			}
		})
	}
}

// addSidecar adds a container whose image cannot be pulled.
func addSidecar(p *corev1.Pod) {
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "sidecar",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "the sidecar's image"}}})
}

func TestAPodWithATokenOfAnotherKeyIsListedAsRefused(t *testing.T) { // decision O9
	scenario(t, "by a gateway with the other key alone", func(t *testing.T) {
		changed := settings()
		changed.Tokens = monitor.NewTokenKey("another internal key")
		cluster, same, _ := startWorker(t, settings(), launchertest.StopsWhenAsked)
		other := newLauncher(t, cluster, changed)
		all, err := same.Workers(t.Context())
		refused, otherErr := other.Workers(t.Context())
		if err != nil || otherErr != nil || len(all) != 1 || all[0].Refused || len(refused) != 1 || !refused[0].Refused {
			t.Errorf("got %+v, %v and %+v, %v", all, err, refused, otherErr)
		}
	})
}
