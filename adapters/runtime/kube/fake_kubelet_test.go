package kube_test

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	containerStart = 5 * time.Millisecond  // duration
	workerStop     = 20 * time.Millisecond // duration, unless it ignores SIGTERM
)

// modify changes a pod. It returns false if the pod no longer exists.
func (f *fakeCluster) modify(name string, uid types.UID, change func(*corev1.Pod)) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.pods[name]
	if p == nil || p.UID != uid {
		return false
	}
	p = p.DeepCopy()
	change(p)
	f.record(watch.Modified, p)
	return true
}

// wait blocks for d. It returns false when the test is over or the node is down.
func (f *fakeCluster) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		f.mu.Lock()
		defer f.mu.Unlock()
		return !f.nodeDown
	case <-f.ctx.Done():
		return false
	}
}

// startContainer simulates what a kubelet does with a new pod.
func (f *fakeCluster) startContainer(name string, uid types.UID) {
	if !f.wait(containerStart) {
		return
	}
	f.modify(name, uid, func(p *corev1.Pod) {
		switch behaviour(p) {
		case launchertest.StopsWhenAsked, launchertest.IgnoresStop:
			setContainer(p, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		case launchertest.ExitsCleanly:
			setContainer(p, corev1.PodSucceeded, terminated(0))
		case launchertest.ExitsWithError:
		}
	})
	f.mu.Lock()
	p := f.pods[name]
	f.mu.Unlock()
	if p != nil && behaviour(p) == launchertest.ExitsWithError {
		f.crashLoop(name, uid)
	}
}

// crashLoop simulates a container that crashes as soon as it runs, until the pod is deleted. The pauses of
// the kubelet are left out.
func (f *fakeCluster) crashLoop(name string, uid types.UID) {
	for restarts := int32(0); ; restarts++ {
		backOff := backingOff(restarts, 7)
		for _, state := range []func(*corev1.Pod){
			func(p *corev1.Pod) {
				backOff(p)
				p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
			},
			func(p *corev1.Pod) {
				backOff(p)
				p.Status.ContainerStatuses[0].State = terminated(7)
			},
			backOff,
		} {
			exists := false
			f.modify(name, uid, func(p *corev1.Pod) {
				if exists = p.DeletionTimestamp == nil; exists {
					state(p)
				}
			})
			if !exists || !f.wait(containerStart) {
				return
			}
		}
	}
}

// backingOff is a pod whose container has crashed and waits for its restart.
func backingOff(restarts, code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if restarts == 0 {
			setContainer(p, corev1.PodRunning, terminated(code)) // the first restart is immediate
			return
		}
		setContainer(p, corev1.PodRunning, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}})
		p.Status.ContainerStatuses[0].RestartCount = restarts
		p.Status.ContainerStatuses[0].LastTerminationState = terminated(code)
	}
}

// terminatePod simulates what a kubelet does with a terminating pod.
func (f *fakeCluster) terminatePod(name string, uid types.UID) {
	if !f.wait(workerStop) {
		return
	}
	exit := int32(-1)
	f.modify(name, uid, func(p *corev1.Pod) {
		switch {
		case behaviour(p) != launchertest.IgnoresStop || p.Status.Phase == corev1.PodPending:
			exit = 0
		case p.DeletionTimestamp.After(time.Now()):
			return
		default:
			exit = 137
		}
		phase := corev1.PodSucceeded
		if exit != 0 {
			phase = corev1.PodFailed
		}
		setContainer(p, phase, terminated(exit))
	})
	if exit < 0 {
		f.terminatePod(name, uid)
		return
	}
	if f.wait(containerStart) {
		f.removePod(name, uid)
	}
}

// removePod removes a pod at once. An empty uid stands for any pod of that name.
func (f *fakeCluster) removePod(name string, uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pods[name]; p != nil && (uid == "" || p.UID == uid) {
		f.record(watch.Deleted, p)
	}
}

// runningGenerations lists the generations of a monitor's workers whose containers run.
func (f *fakeCluster) runningGenerations(id monitor.ID) (all []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pods[id.WorkerName()]; p != nil && len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil {
		generation, _ := strconv.Atoi(p.Labels["generation"])
		all = append(all, generation)
	}
	return all
}

func behaviour(p *corev1.Pod) launchertest.Behaviour {
	env := p.Spec.Containers[0].Env
	i := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == "STREAM_URL" })
	return launchertest.BehaviourOf(monitor.StreamURL(strings.ReplaceAll(env[i].Value, "$$", "$")))
}

func setContainer(p *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) {
	p.Status.Phase = phase
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "monitor", State: state}}
}

func terminated(code int32) corev1.ContainerState {
	reason := "Error"
	if code == 0 {
		reason = "Completed"
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
}
