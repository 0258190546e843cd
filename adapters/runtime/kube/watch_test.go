package kube_test

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// scenario runs a subtest in virtual time.
func scenario(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func expectListed(t *testing.T, l *kube.Launcher, n int) {
	t.Helper()
	if w, err := l.Workers(t.Context()); err != nil || len(w) != n {
		t.Errorf("Workers() = %v, %v, want %d", w, err, n)
	}
}

func expectUnknown(t *testing.T, l *kube.Launcher) {
	t.Helper()
	if w, err := l.Workers(t.Context()); err == nil {
		t.Errorf("Workers() = %v, want an error", w)
	}
}

func TestWorkersAreKnownFromTheWatch(t *testing.T) {
	scenario(t, "a minute of comparisons reads no list but the first", func(t *testing.T) {
		cluster, l, _ := startWorker(t, settings(), launchertest.StopsWhenAsked)
		for range 12 {
			time.Sleep(5 * time.Second)
			expectListed(t, l, 1)
		}
		cluster.mu.Lock()
		defer cluster.mu.Unlock()
		expect.Equal(t, "lists read", cluster.lists, 1)
	})

	scenario(t, "a list that is older than a launch does not report the pod as gone", func(t *testing.T) {
		cluster, l := open(t, settings())
		synctest.Wait()
		cluster.set(func(f *fakeCluster) {
			f.watchHangs, f.historyExpired, f.listsAreOld = true, true, true
		})
		launch(t, cluster, l, workerSpec(launchertest.StopsWhenAsked))
		cluster.closeWatches()
		expectNoExitFor(t, l, time.Minute)
		cluster.set(func(f *fakeCluster) {
			f.watchHangs, f.historyExpired, f.listsAreOld = false, false, false
		})
		time.Sleep(time.Minute)
		expectListed(t, l, 1)
		expectNoExit(t, l)
	})

	scenario(t, "a worker runs, though the watch has not delivered it", func(t *testing.T) {
		cluster := newFakeCluster(t)
		l, otherGateway := newLauncher(t, cluster, settings()), newLauncher(t, cluster, settings())
		synctest.Wait()
		cluster.set(func(f *fakeCluster) { f.watchHangs = true })
		spec := workerSpec(launchertest.StopsWhenAsked)
		launch(t, cluster, otherGateway, spec)
		expectListed(t, l, 0)
		for generation, want := range map[int]bool{2: true, 3: true, 4: false} {
			if runs, err := l.Runs(t.Context(), spec.ID, generation); err != nil || runs != want {
				t.Errorf("Runs(%d) = %v, %v", generation, runs, err)
			}
		}
		cluster.removePod(podName, "")
		if runs, err := l.Runs(t.Context(), spec.ID, 3); err != nil || runs {
			t.Errorf("Runs() = %v, %v of a pod that is gone", runs, err)
		}
		cluster.fail(apierrors.NewServiceUnavailable("away"), "get")
		if runs, err := l.Runs(t.Context(), spec.ID, 3); err == nil {
			t.Errorf("Runs() = %v without an API server", runs)
		}
	})

	for name, away := range map[string]error{
		"is refused": apierrors.NewServiceUnavailable("away"), "finds no API server": &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
	} {
		scenario(t, "no worker is known while the watch "+name+", and all are soon after", func(t *testing.T) {
			cluster, l, _ := startWorker(t, settings(), launchertest.StopsWhenAsked)
			cluster.fail(away, "list", "watch")
			cluster.closeWatches()
			time.Sleep(10 * time.Minute)
			expectUnknown(t, l)
			cluster.set(func(f *fakeCluster) { clear(f.failures) })
			time.Sleep(10 * time.Second)
			expectListed(t, l, 1)
			expectNoExit(t, l)
		})
	}
}

func TestTheWatchRecoversFromGaps(t *testing.T) {
	scenario(t, "a watch that was interrupted resumes", func(t *testing.T) {
		cluster, l, p := startWorker(t, settings(), launchertest.StopsWhenAsked)
		cluster.closeWatches()
		cluster.updatePod(p, func(p *corev1.Pod) { setContainer(p, corev1.PodFailed, terminated(3)) })
		expectExit(t, l, 3, "exit code 3")
		expectNoExitFor(t, l, time.Minute)
	})

	scenario(t, "a pod that was removed during a gap is reported as vanished, once", func(t *testing.T) {
		cluster, l, p := startWorker(t, settings(), launchertest.StopsWhenAsked)
		cluster.set(func(f *fakeCluster) { f.historyExpired, f.watchHangs = true, true })
		cluster.removePod(p.Name, p.UID)
		cluster.set(func(f *fakeCluster) { f.watchHangs = false })
		cluster.closeWatches()
		expectExit(t, l, 3, "its pod has vanished; how it ended is unknown")
		synctest.Wait() // the watch begins again
		expectListed(t, l, 0)
		expectNoExitFor(t, l, time.Minute)
	})

	scenario(t, "a pod that was replaced during a gap has ended, and its successor has not", func(t *testing.T) {
		cluster, l := open(t, settings())
		spec := workerSpec(launchertest.StopsWhenAsked)
		p := launch(t, cluster, l, spec)
		otherGateway := newLauncher(t, cluster, settings())
		cluster.set(func(f *fakeCluster) { f.historyExpired, f.watchHangs = true, true })
		cluster.removePod(p.Name, p.UID)
		spec.Generation++
		launch(t, cluster, otherGateway, spec)
		cluster.set(func(f *fakeCluster) { f.watchHangs = false })
		cluster.closeWatches()
		expectExit(t, l, spec.Generation-1, "")
		expectNoExitFor(t, l, time.Minute)
		expectListed(t, l, 1)
	})

	scenario(t, "a watch that hangs is begun again within a minute, and then delivers the end once", func(t *testing.T) {
		cluster, l, p := startWorker(t, settings(), launchertest.StopsWhenAsked)
		synctest.Wait()
		cluster.set(func(f *fakeCluster) { f.watchHangs = true })
		cluster.removePod(p.Name, p.UID)
		expectNoExitFor(t, l, 30*time.Second)
		cluster.set(func(f *fakeCluster) { f.watchHangs = false })
		time.Sleep(35 * time.Second)
		expectListed(t, l, 0)
		expectExit(t, l, 3, "")
		expectNoExitFor(t, l, 2*time.Minute)
	})

	scenario(t, "a watch that fails is logged and retried", func(t *testing.T) {
		cluster := newFakeCluster(t)
		cluster.fail(apierrors.NewServiceUnavailable("away"), "list")
		cfg, log := settingsWithLog()
		start := time.Now()
		l := newLauncher(t, cluster, cfg)
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("the start took %v", took)
		}
		expectUnknown(t, l)
		time.Sleep(time.Minute)
		if n := log.Count("cannot watch the worker pods"); n < 5 || n > 20 {
			t.Errorf("logged %d times", n)
		}
		cluster.fail(nil, "list")
		time.Sleep(10 * time.Second)
		p := launch(t, cluster, l, workerSpec(launchertest.StopsWhenAsked))
		expectListed(t, l, 1)
		cluster.updatePod(p, failed("Evicted", ""))
		nextExit(t, l)
	})

	scenario(t, "the deletion of an ended pod is retried", func(t *testing.T) {
		cfg, log := settingsWithLog()
		cluster, l, p := startWorker(t, cfg, launchertest.StopsWhenAsked)
		cluster.fail(errors.New("connection refused"), "delete")
		cluster.updatePod(p, failed("Evicted", ""))
		nextExit(t, l)
		time.Sleep(10 * time.Second)
		if !cluster.exists(p.Name) || log.Count("could not be deleted") != 1 {
			t.Errorf("the log is\n%s", log)
		}
		expectListed(t, l, 0)
		cluster.fail(nil, "delete")
		time.Sleep(time.Minute)
		cluster.expectGone(p.Name)
		expectNoExit(t, l)
	})

	scenario(t, "a pod whose container is not created within a minute is logged", func(t *testing.T) {
		cluster := newFakeCluster(t)
		cluster.set(func(f *fakeCluster) { f.nodeDown = true })
		cfg, log := settingsWithLog()
		l := newLauncher(t, cluster, cfg)
		mustLaunch(t, l, workerSpec(launchertest.StopsWhenAsked))
		p := cluster.pod(podName)
		cluster.updatePod(p, waits("ContainerCreating", ""))
		time.Sleep(50 * time.Second)
		if log.Count("SlowStart") != 0 {
			t.Error("SlowStart was logged within 50 s")
		}
		time.Sleep(5 * time.Minute)
		expect.Equal(t, "lines of the log on SlowStart", log.Count("SlowStart"), 1)
	})
}

// crashedAfter is a container that has just crashed after running for d.
func crashedAfter(d time.Duration) corev1.ContainerState {
	state := terminated(7)
	state.Terminated.StartedAt, state.Terminated.FinishedAt = metav1.NewTime(time.Now().Add(-d)), metav1.Now()
	return state
}

// runningFor is a container that has run for d.
func runningFor(d time.Duration) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-d))}}
}

func inBackOff() corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
}

// restarted is the status of a pod whose container was restarted.
func restarted(restarts int32, state, last corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		setContainer(p, corev1.PodRunning, state)
		p.Status.ContainerStatuses[0].RestartCount, p.Status.ContainerStatuses[0].LastTerminationState = restarts, last
	}
}

// lateCrashes is the history of a pod that was restarted twice at its beginning,
// and crashes four times in a row after two weeks.
func lateCrashes() []func(*corev1.Pod) {
	const long, short = 14 * 24 * time.Hour, 5 * time.Second
	return []func(*corev1.Pod){
		restarted(2, runningFor(long), crashedAfter(short)),
		restarted(2, crashedAfter(long), crashedAfter(short)),
		restarted(3, runningFor(0), crashedAfter(long)),
		restarted(3, inBackOff(), crashedAfter(short)),
		restarted(4, runningFor(0), crashedAfter(short)),
		restarted(4, inBackOff(), crashedAfter(short)),
		restarted(5, runningFor(0), crashedAfter(short)),
		restarted(5, inBackOff(), crashedAfter(short)),
	}
}

// observeExit starts a gateway beside a pod that another gateway has launched. The
// pod is in state first at the start, and then goes through the others. end is
// the index of the state that was reported as the end (0: first), or -1.
func observeExit(t *testing.T, first func(*corev1.Pod), others ...func(*corev1.Pod)) (end int, detail string) {
	t.Helper()
	cluster, earlier, p := startWorker(t, settings(), launchertest.StopsWhenAsked)
	must.Do(t, earlier.Close(t.Context()))
	cluster.updatePod(p, first)
	l := newLauncher(t, cluster, settings())
	for i, state := range append([]func(*corev1.Pod){first}, others...) {
		cluster.updatePod(p, state)
		synctest.Wait()
		select {
		case e := <-l.Exits():
			return i, e.Detail
		default:
			expectListed(t, l, 1)
		}
	}
	return -1, ""
}

func TestRestartsBeforeALongRunDoNotCount(t *testing.T) {
	const fourth = "it crashes repeatedly, 4 times so far, the last time with exit code 7"
	for first, moment := range []string{"while the container runs for weeks", "just after the first crash", "just after the first restart"} {
		scenario(t, "a gateway that starts "+moment+" waits for the fourth crash", func(t *testing.T) {
			all := lateCrashes()[first:]
			if end, detail := observeExit(t, all[0], all[1:]...); end != len(all)-1 || detail != fourth {
				t.Errorf("after %d of %d: %q", end, len(all)-1, detail)
			}
		})
	}

	scenario(t, "a gateway that sees only the pauses between the crashes waits for the fourth crash", func(t *testing.T) {
		all := lateCrashes()
		if end, detail := observeExit(t, restarted(0, runningFor(0), corev1.ContainerState{}), all[0], all[3], all[5], all[7]); end != 4 || detail != fourth {
			t.Errorf("after %d of 4: %q", end, detail)
		}
	})

	scenario(t, "a gateway that starts during a pause does not know the number of crashes and waits for three more restarts", func(t *testing.T) {
		all := lateCrashes()
		if end, detail := observeExit(t, all[3], all[4:]...); end >= 0 {
			t.Errorf("after %d: %q", end, detail)
		}
		short := crashedAfter(5 * time.Second)
		if end, detail := observeExit(t, all[3], restarted(6, runningFor(0), short), restarted(6, inBackOff(), short)); end != 2 || detail != fourth {
			t.Errorf("after %d of 2: %q", end, detail)
		}
	})

	scenario(t, "a run of ten minutes resets the count, and a run that is a second shorter does not", func(t *testing.T) {
		for _, c := range []struct {
			run time.Duration
			end int
		}{{10*time.Minute - time.Second, 3}, {10 * time.Minute, -1}} {
			short := crashedAfter(5 * time.Second)
			end, _ := observeExit(t, restarted(0, runningFor(0), corev1.ContainerState{}), restarted(1, crashedAfter(c.run), short), restarted(2, inBackOff(), short), restarted(3, inBackOff(), short))
			if end != c.end {
				t.Errorf("after a run of %v: ended after %d, want %d", c.run, end, c.end)
			}
		}
	})

	// The StartedAt of such a container is 1970, or missing.
	scenario(t, "a container that never ran does not reset the count", func(t *testing.T) {
		for _, startedAt := range []metav1.Time{metav1.Unix(0, 0), {}} {
			never := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 128, Reason: "StartError", Message: "no such file", StartedAt: startedAt, FinishedAt: metav1.Now()}}
			var states []func(*corev1.Pod)
			for n := range int32(4) {
				states = append(states, restarted(n, never, corev1.ContainerState{}), restarted(n, inBackOff(), never))
			}
			if end, detail := observeExit(t, restarted(0, inBackOff(), corev1.ContainerState{}), states...); end != len(states) {
				t.Errorf("started at %v: after %d of %d: %q", startedAt, end, len(states), detail)
			}
		}
	})
}
