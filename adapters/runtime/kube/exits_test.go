package kube_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func nextExit(t *testing.T, l *kube.Launcher) supervisor.Exit {
	t.Helper()
	select {
	case e := <-l.Exits():
		return e
	case <-time.After(patience):
		t.Fatal("no exit came")
	}
	return supervisor.Exit{}
}

// expectExit waits for the end of a generation, with this detail, or with any if it is empty.
func expectExit(t *testing.T, l *kube.Launcher, generation int, detail string) {
	t.Helper()
	if e := nextExit(t, l); e.Generation != generation || detail != "" && e.Detail != detail {
		t.Errorf("got %+v, want %q of generation %d", e, detail, generation)
	}
}

func expectTook(t *testing.T, took, least, most time.Duration) {
	t.Helper()
	if took < least || took > most {
		t.Errorf("took %v, want %v to %v", took, least, most)
	}
}

func expectNoExit(t *testing.T, l *kube.Launcher) {
	t.Helper()
	select {
	case e := <-l.Exits():
		t.Errorf("unexpected exit %+v", e)
	default:
	}
}

func expectNoExitFor(t *testing.T, l *kube.Launcher, d time.Duration) {
	t.Helper()
	time.Sleep(d)
	expectNoExit(t, l)
}

// stop stops the worker and returns how long that took.
func stop(t *testing.T, l *kube.Launcher) time.Duration {
	t.Helper()
	start := time.Now()
	must.Do(t, l.Stop(t.Context(), workerSpec("").ID))
	return time.Since(start)
}

// launch launches a worker and waits until it runs.
func launch(t *testing.T, cluster *fakeCluster, l *kube.Launcher, spec supervisor.WorkerSpec) *corev1.Pod {
	t.Helper()
	mustLaunch(t, l, spec)
	waitFor(t, "the worker to run", func() bool { return len(cluster.runningGenerations(spec.ID)) == 1 })
	return cluster.pod(spec.ID.WorkerName())
}

// startWorker returns a cluster with one worker that runs, its launcher and its pod.
func startWorker(t *testing.T, cfg kube.Config, b launchertest.Behaviour) (*fakeCluster, *kube.Launcher, *corev1.Pod) {
	t.Helper()
	cluster, l := open(t, cfg)
	return cluster, l, launch(t, cluster, l, workerSpec(b))
}

// pod returns the pod of this name, or nil.
func (f *fakeCluster) pod(name string) *corev1.Pod {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pods[name].DeepCopy()
}

// updatePod changes the state of a pod.
func (f *fakeCluster) updatePod(p *corev1.Pod, change func(*corev1.Pod)) {
	f.modify(p.Name, p.UID, change)
}

func (f *fakeCluster) exists(name string) bool { return f.pod(name) != nil }

func (f *fakeCluster) expectGone(name string) {
	f.t.Helper()
	if f.exists(name) {
		f.t.Errorf("pod %s still exists", name)
	}
}

func failed(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		setContainer(p, corev1.PodFailed, terminated(137))
		p.Status.Reason, p.Status.Message = reason, message
	}
}

func TestAnExitDescribesHowTheWorkerEnded(t *testing.T) {
	oom := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		detail string
		clean  bool
		gone   bool // the pod is removed then
	}{
		"exit code 0": {func(p *corev1.Pod) { setContainer(p, corev1.PodSucceeded, terminated(0)) }, "exit code 0", true, false},
		"exit code 0 while another container runs": {func(p *corev1.Pod) {
			setContainer(p, corev1.PodRunning, terminated(0))
		}, "exit code 0", true, false},
		"another exit code in a failed pod": {func(p *corev1.Pod) { setContainer(p, corev1.PodFailed, terminated(3)) }, "exit code 3", false, false},
		"out of memory repeatedly": {func(p *corev1.Pod) {
			setContainer(p, corev1.PodRunning, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}})
			p.Status.ContainerStatuses[0].RestartCount, p.Status.ContainerStatuses[0].LastTerminationState = 4, oom
		}, "it crashes repeatedly, 5 times so far, the last time with out of memory: it was killed at the memory limit of its pod (OOMKilled)", false, false},
		"out of memory": {func(p *corev1.Pod) { setContainer(p, corev1.PodFailed, oom) },
			"out of memory: it was killed at the memory limit of its pod (OOMKilled)", false, false},
		"evicted by its node": {failed("Evicted", "The node was low on resource: memory.\nUsage was high."),
			"killed by SIGKILL (exit code 137); its pod failed (Evicted): The node was low on resource: memory. Usage was high.", false, false},
		"rejected by its node": {func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: strings.Repeat("é", 150)}
		}, "its pod failed (OutOfcpu): " + strings.Repeat("é", 100) + "…", false, false},
		"its program does not exist": {func(p *corev1.Pod) {
			setContainer(p, corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 128, Reason: "StartError", Message: "no such file"}})
		}, "exit code 128 (StartError): no such file", false, false},
		"its node was drained": {func(p *corev1.Pod) {
			setContainer(p, corev1.PodSucceeded, terminated(0))
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"})
		}, "exit code 0; its pod was disrupted (EvictionByEvictionAPI): Eviction API: evicting", true, false},
		"deleted":                     {func(*corev1.Pod) {}, "its pod was deleted", false, true},
		"deleted before it ran":       {func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }, "its pod was deleted before it ran", false, true},
		"deleted just after a crash":  {func(p *corev1.Pod) { setContainer(p, corev1.PodRunning, terminated(2)) }, "its pod was deleted, exit code 2", false, true},
		"deleted between two crashes": {backingOff(2, 7), "its pod was deleted between two crashes, the last with exit code 7", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, log := settingsWithLog()
			cluster, l, p := startWorker(t, cfg, launchertest.StopsWhenAsked)
			cluster.updatePod(p, c.change)
			if c.gone {
				cluster.removePod(p.Name, p.UID)
			}
			if e := nextExit(t, l); e.Detail != c.detail || e.Clean != c.clean || e.Generation != 3 {
				t.Errorf("got %+v", e)
			}
			waitFor(t, "the pod to be deleted (section 8.4)", func() bool { return !cluster.exists(p.Name) })
			waitFor(t, "the end in the log", func() bool { return log.Count(`"worker ended"`) == 1 })
			expectNoExit(t, l)
		})
	}
}

func TestTheFourthCrashIsAnExit(t *testing.T) {
	scenario(t, "three restarts are waited for, and the fourth crash is the end", func(t *testing.T) {
		cfg, log := settingsWithLog()
		_, l := open(t, cfg)
		mustLaunch(t, l, workerSpec(launchertest.ExitsWithError))
		if e := nextExit(t, l); e.Clean || e.Detail != "it crashes repeatedly, 4 times so far, the last time with exit code 7" {
			t.Errorf("got %+v", e)
		}
		if log.Count("restarted in its pod") != 3 || log.Count("cannot start") > 0 {
			t.Errorf("want three restarts and nothing else; the log is\n%s", log)
		}
		expect.Text(t, "the log", log.String(), `"restarts":3`, `"detail":"exit code 7"`)
	})
}

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
