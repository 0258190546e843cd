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
	starting = 5 * time.Millisecond  // a container takes
	stopping = 20 * time.Millisecond // an obedient worker takes
)

// change changes a pod that is still there, and tells whether it is.
func (s *simulated) change(name string, uid types.UID, how func(*corev1.Pod)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[name]
	if p == nil || p.UID != uid {
		return false
	}
	p = p.DeepCopy()
	how(p)
	s.store(watch.Modified, p)
	return true
}

// pause waits and tells whether the cluster, and the node, are still there.
func (s *simulated) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.noNode
	case <-s.alive.Done():
		return false
	}
}

// run is what a kubelet does with a new pod.
func (s *simulated) run(name string, uid types.UID) {
	if !s.pause(starting) {
		return
	}
	s.change(name, uid, func(p *corev1.Pod) {
		switch behaviour(p) {
		case launchertest.StopsWhenAsked, launchertest.IgnoresStop:
			contain(p, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		case launchertest.ExitsCleanly:
			contain(p, corev1.PodSucceeded, terminated(0))
		case launchertest.ExitsWithError:
		}
	})
	s.mu.Lock()
	p := s.pods[name]
	s.mu.Unlock()
	if p != nil && behaviour(p) == launchertest.ExitsWithError {
		s.crash(name, uid)
	}
}

// crash is what a kubelet does with a container that crashes as soon as it runs:
// it restarts it at once the first time, and after a pause that doubles the next
// ones, until the pod is deleted.
func (s *simulated) crash(name string, uid types.UID) {
	s.mu.Lock()
	pause := s.crashPause
	s.mu.Unlock()
	for restarts := int32(0); ; restarts++ {
		for _, state := range []func(*corev1.Pod){
			func(p *corev1.Pod) {
				contain(p, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
			},
			func(p *corev1.Pod) { contain(p, corev1.PodRunning, terminated(7)) },
			paused(restarts, 7),
		} {
			there := false
			s.change(name, uid, func(p *corev1.Pod) {
				if there = p.DeletionTimestamp == nil; there {
					state(p)
					p.Status.ContainerStatuses[0].RestartCount = restarts
					if restarts > 0 {
						p.Status.ContainerStatuses[0].LastTerminationState = terminated(7)
					}
				}
			})
			if !there || !s.pause(starting) {
				return
			}
		}
		if restarts > 0 && !s.pause(min(pause<<(restarts-1), 5*time.Minute)) {
			return
		}
	}
}

// paused is a pod whose container has crashed and is not restarted yet.
func paused(restarts, code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if restarts == 0 {
			contain(p, corev1.PodRunning, terminated(code)) // no pause after the first crash
			return
		}
		contain(p, corev1.PodRunning, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}})
		p.Status.ContainerStatuses[0].RestartCount = restarts
		p.Status.ContainerStatuses[0].LastTerminationState = terminated(code)
	}
}

// terminate is what a kubelet does with a pod that is being deleted.
func (s *simulated) terminate(name string, uid types.UID) {
	if !s.pause(stopping) {
		return
	}
	exit := int32(-1)
	s.change(name, uid, func(p *corev1.Pod) {
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
		contain(p, phase, terminated(exit))
	})
	if exit < 0 {
		s.terminate(name, uid)
		return
	}
	if s.pause(starting) {
		s.vanish(name, uid)
	}
}

// vanish takes a pod away without a word.
func (s *simulated) vanish(name string, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pods[name]; p != nil && (uid == "" || p.UID == uid) {
		s.store(watch.Deleted, p)
	}
}

// working lists the generations of a monitor's workers whose containers run.
func (s *simulated) working(id monitor.ID) (all []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pods[id.WorkerName()]; p != nil && len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil {
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

func contain(p *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) {
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
