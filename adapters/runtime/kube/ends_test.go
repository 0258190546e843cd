package kube_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
)

func exit(t *testing.T, l *kube.Launcher) supervisor.Exit {
	t.Helper()
	select {
	case e := <-l.Exits():
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no exit came")
	}
	return supervisor.Exit{}
}

func expectNoExit(t *testing.T, l *kube.Launcher) {
	t.Helper()
	select {
	case e := <-l.Exits():
		t.Errorf("unexpected exit %+v", e)
	default:
	}
}

// running launches a worker and waits until it runs.
func running(t *testing.T, s *simulated, l *kube.Launcher, j supervisor.WorkerSpec) *corev1.Pod {
	t.Helper()
	if err := l.Launch(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	until(t, "the worker", func() bool { return len(s.working(j.ID)) == 1 })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[j.ID.WorkerName()].DeepCopy()
}

// happens makes something happen to a pod.
func (s *simulated) happens(p *corev1.Pod, what func(*corev1.Pod)) { s.change(p.Name, p.UID, what) }

func (s *simulated) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[name] != nil
}

func failed(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		contain(p, corev1.PodFailed, terminated(137))
		p.Status.Reason, p.Status.Message = reason, message
	}
}

func TestExitsSayHow(t *testing.T) {
	oom := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}
	for name, c := range map[string]struct {
		what   func(*corev1.Pod)
		detail string
		clean  bool
	}{
		"it finished": {func(p *corev1.Pod) { contain(p, corev1.PodSucceeded, terminated(0)) }, "exit code 0", true},
		"it finished while something beside it runs": {func(p *corev1.Pod) {
			contain(p, corev1.PodRunning, terminated(0))
		}, "exit code 0", true},
		"an exit code that is the end": {func(p *corev1.Pod) { contain(p, corev1.PodFailed, terminated(3)) }, "exit code 3", false},
		"out of memory, again and again": {func(p *corev1.Pod) {
			contain(p, corev1.PodRunning, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}})
			p.Status.ContainerStatuses[0].RestartCount, p.Status.ContainerStatuses[0].LastTerminationState = 4, oom
		}, "it crashes again and again, 5 times by now, the last time with out of memory: it was killed at the limit of its pod (OOMKilled)", false},
		"out of memory": {func(p *corev1.Pod) { contain(p, corev1.PodFailed, oom) },
			"out of memory: it was killed at the limit of its pod (OOMKilled)", false},
		"evicted by its node": {failed("Evicted", "The node was low on resource: memory.\nIt hurts."),
			"killed by SIGKILL (exit code 137); its pod failed (Evicted): The node was low on resource: memory. It hurts.", false},
		"rejected by its node": {func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: strings.Repeat("é", 150)}
		}, "its pod failed (OutOfcpu): " + strings.Repeat("é", 100) + "…", false},
		"its program is not there": {func(p *corev1.Pod) {
			contain(p, corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 128, Reason: "StartError", Message: "no such file"}})
		}, "exit code 128 (StartError): no such file", false},
		"drained": {func(p *corev1.Pod) {
			contain(p, corev1.PodSucceeded, terminated(0))
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"})
		}, "exit code 0; it had to go (EvictionByEvictionAPI): Eviction API: evicting", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulate(t)
			cfg, log := logged()
			l := open(t, s, cfg)
			p := running(t, s, l, job(launchertest.StopsWhenAsked))
			s.happens(p, c.what)
			if e := exit(t, l); e.Detail != c.detail || e.Clean != c.clean || e.Generation != 3 {
				t.Errorf("got %+v", e)
			}
			until(t, "the pod to be deleted (section 8.4)", func() bool { return !s.has(p.Name) })
			until(t, "the end in the log", func() bool { return log.Count(`"worker ended"`) == 1 })
			expectNoExit(t, l)
		})
	}
	for name, c := range map[string]struct {
		what   func(*corev1.Pod)
		detail string
	}{
		"deleted":                     {func(*corev1.Pod) {}, "its pod was deleted"},
		"deleted before it ran":       {func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }, "its pod was deleted before it ran"},
		"deleted just after a crash":  {func(p *corev1.Pod) { contain(p, corev1.PodRunning, terminated(2)) }, "its pod was deleted, exit code 2"},
		"deleted between two crashes": {paused(2, 7), "its pod was deleted between two crashes, the last with exit code 7"},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulate(t)
			l := open(t, s, settings())
			p := running(t, s, l, job(launchertest.StopsWhenAsked))
			s.happens(p, c.what)
			s.vanish(p.Name, p.UID)
			if e := exit(t, l); e.Detail != c.detail || e.Clean {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestARestartInThePodIsNoEnd(t *testing.T) {
	s := simulate(t)
	cfg, log := logged()
	l := open(t, s, cfg)
	p := running(t, s, l, job(launchertest.StopsWhenAsked))
	for n := range int32(3) {
		s.happens(p, func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = terminated(2) })
		s.happens(p, paused(n, 2))
		s.happens(p, func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: "monitor", RestartCount: n + 1,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: terminated(2)}
		})
	}
	until(t, "three warnings", func() bool { return log.Count(`restarted in its pod`) == 3 })
	expectContains(t, log.String(), `"restarts":3`, `"detail":"exit code 2"`)
	if log.Count("cannot start") > 0 {
		t.Errorf("the log says\n%s", log)
	}
	expectNoExit(t, l)
	if w, err := l.Workers(t.Context()); err != nil || len(w) != 1 {
		t.Errorf("running are %v, %v", w, err)
	}
}

func TestAWorkerThatCrashesAgainAndAgain(t *testing.T) {
	scenario(t, "three restarts are waited for, and the fourth crash is its end", func(t *testing.T) {
		s := simulate(t)
		cfg, log := logged()
		l := open(t, s, cfg)
		began := time.Now()
		if err := l.Launch(t.Context(), job(launchertest.ExitsWithError)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Second)
		expectNoExit(t, l)
		expectListed(t, l, 1)
		e := exit(t, l)
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("took %v, want the kubelet's 10 s and 20 s", took)
		}
		if e.Clean || e.Detail != "it crashes again and again, 4 times by now, the last time with exit code 7" {
			t.Errorf("got %+v", e)
		}
		if n := log.Count("restarted in its pod"); n != 3 {
			t.Errorf("%d restarts were said", n)
		}
	})
}
