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

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
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
