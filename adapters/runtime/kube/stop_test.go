package kube_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestStop(t *testing.T) {
	scenario(t, "a worker gets 30 s to stop (section 8.3)", func(t *testing.T) {
		cfg := settings()
		cfg.Grace = 0
		cluster, l, _ := startWorker(t, cfg, launchertest.IgnoresStop)
		expectTook(t, stop(t, l), 30*time.Second, 31*time.Second)
		cluster.expectGraces(30)
	})

	scenario(t, "a worker gets 5 s when a newer generation replaces it, even if it is being stopped", func(t *testing.T) {
		cfg := settings()
		cfg.Grace = 0
		cluster, l, _ := startWorker(t, cfg, launchertest.IgnoresStop)
		spec := workerSpec(launchertest.IgnoresStop)
		go func() { _ = l.Stop(context.Background(), spec.ID) }()
		time.Sleep(time.Second)
		spec.Generation++
		start := time.Now()
		launch(t, cluster, l, spec)
		expectTook(t, time.Since(start), 5*time.Second, 6*time.Second)
		cluster.expectGraces(30, 5)
		expectExit(t, l, 3, "killed by SIGKILL (exit code 137)")
		expectNoExitFor(t, l, time.Minute)
		expectListed(t, l, 1) // the stop did not delete the successor
	})

	scenario(t, "a pod on a node that does not answer is deleted by force", func(t *testing.T) {
		cfg, log := settingsWithLog()
		cluster, l, p := startWorker(t, cfg, launchertest.StopsWhenAsked)
		cluster.set(func(f *fakeCluster) { f.nodeDown = true })
		expectTook(t, stop(t, l), 6*time.Second, 6*time.Second)
		cluster.expectGraces(1, 0)
		if cluster.exists(p.Name) || log.Count("deleting it by force") != 1 {
			t.Errorf("the log is\n%s", log)
		}
		expectExit(t, l, 3, "its pod was deleted")
	})

	scenario(t, "a late deletion does not delete the successor", func(t *testing.T) {
		cluster, l, p := startWorker(t, settings(), launchertest.StopsWhenAsked)
		cluster.set(func(f *fakeCluster) {
			f.beforeDelete = func() {
				f.record(watch.Deleted, p)
				p = p.DeepCopy()
				p.Labels["generation"] = "4"
				_, _ = f.create(p)
			}
		})
		stop(t, l)
		expectExit(t, l, 3, "")
		time.Sleep(time.Minute)
		if g := cluster.runningGenerations(workerSpec("").ID); len(g) != 1 || g[0] != 4 {
			t.Errorf("the running generations are %v", g)
		}
	})

	scenario(t, "a stop works while the watch hangs", func(t *testing.T) {
		cluster, l, _ := startWorker(t, settings(), launchertest.StopsWhenAsked)
		synctest.Wait()
		cluster.set(func(f *fakeCluster) { f.watchHangs = true })
		start := time.Now()
		if err := l.Stop(t.Context(), workerSpec("").ID); err != nil || time.Since(start) > 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})

	scenario(t, "a stop fails within a second if the API server is away", func(t *testing.T) {
		cluster, l, _ := startWorker(t, settings(), launchertest.StopsWhenAsked)
		cluster.fail(errors.New("connection refused"), "delete")
		start := time.Now()
		if err := l.Stop(t.Context(), workerSpec("").ID); err == nil || time.Since(start) > time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})

	scenario(t, "Close waits until the API server has accepted a stop", func(t *testing.T) {
		cluster, l, p := startWorker(t, settings(), launchertest.IgnoresStop)
		cluster.fail(errors.New("connection refused"), "delete")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = l.Stop(ctx, workerSpec("").ID)
		time.AfterFunc(300*time.Millisecond, func() { cluster.fail(nil, "delete") })
		must.Do(t, l.Close(t.Context()))
		time.Sleep(5 * time.Second)
		cluster.expectGone(p.Name)
		if err := l.Stop(t.Context(), workerSpec("").ID); !errors.Is(err, kube.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})

	scenario(t, "Close returns an error when ctx is done before a stop was accepted", func(t *testing.T) {
		cluster := newFakeCluster(t)
		l := must.Get(kube.New(kube.NewCluster(cluster.client, namespace), settings()))(t)
		launch(t, cluster, l, workerSpec(launchertest.IgnoresStop))
		cluster.fail(errors.New("connection refused"), "delete")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = l.Stop(ctx, workerSpec("").ID)
		synctest.Wait()
		if err := l.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})

	scenario(t, "Close returns no error when ctx is done and nothing is being stopped", func(t *testing.T) {
		cluster := newFakeCluster(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 {
			l := must.Get(kube.New(kube.NewCluster(cluster.client, namespace), settings()))(t)
			must.Do(t, l.Close(ctx))
		}
	})
}

// runningWithFinalizers launches a worker whose pod has finalizers. It returns the
// cluster, the log, and a function that stops the worker.
func runningWithFinalizers(t *testing.T) (*fakeCluster, *logbuffer.Buffer, func() error) {
	t.Helper()
	cfg, log := settingsWithLog()
	cluster, l, _ := startWorker(t, cfg, launchertest.StopsWhenAsked)
	cluster.set(func(f *fakeCluster) {
		f.pods[podName].Finalizers = []string{"backup.example/keep", "audit.example/log"}
	})
	return cluster, log, func() error { return l.Stop(t.Context(), workerSpec("").ID) }
}

func TestAPodWithFinalizersIsAnError(t *testing.T) {
	scenario(t, "a stop gives up after 21 s and names the finalizers", func(t *testing.T) {
		cluster, log, stop := runningWithFinalizers(t)
		start := time.Now()
		err := stop()
		if took := time.Since(start); err == nil || took != 21*time.Second {
			t.Fatalf("got %v after %v", err, took)
		}
		expect.Failure(t, err, "pod "+podName+" in namespace streams still exists after 3 forced deletions",
			"finalizers", "backup.example/keep, audit.example/log")
		cluster.expectGraces(1, 0, 0, 0)
		if n := log.Count("deleting it by force"); n != 1 {
			t.Errorf("it was logged %d times", n)
		}
	})

	scenario(t, "a stop succeeds when the finalizers are removed meanwhile", func(t *testing.T) {
		cluster, _, stop := runningWithFinalizers(t)
		time.AfterFunc(8*time.Second, func() { cluster.set(func(f *fakeCluster) { f.pods[podName].Finalizers = nil }) })
		must.Do(t, stop())
		cluster.expectGone(podName)
	})

	scenario(t, "the error of a failed read is added to the final error", func(t *testing.T) {
		cluster, _, stop := runningWithFinalizers(t)
		time.AfterFunc(time.Second, func() { cluster.fail(errors.New("connection refused"), "get") })
		time.AfterFunc(10*time.Second, func() { cluster.fail(nil, "get") })
		err := stop()
		if err == nil {
			t.Fatal("the stop succeeded")
		}
		expect.Failure(t, err, "backup.example/keep", "connection refused")
	})
}
