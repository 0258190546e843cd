package kube_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
)

// In these scenarios time is simulated, too.
func scenario(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func expectListed(t *testing.T, l *kube.Launcher, n int) {
	t.Helper()
	if w, err := l.Workers(t.Context()); err != nil || len(w) != n {
		t.Errorf("running are %v, %v, want %d", w, err, n)
	}
}

func TestGaps(t *testing.T) {
	scenario(t, "a watch that is cut goes on where it was", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		p := running(t, s, l, job(launchertest.StopsWhenAsked))
		s.cut()
		s.happens(p, func(p *corev1.Pod) { contain(p, corev1.PodFailed, terminated(3)) })
		if e := exit(t, l); e.Detail != "exit code 3" {
			t.Errorf("got %+v", e)
		}
		time.Sleep(time.Minute)
		expectNoExit(t, l)
	})

	scenario(t, "what went while nobody watched has vanished, once", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		p := running(t, s, l, job(launchertest.StopsWhenAsked))
		s.set(func(s *simulated) { s.forgets, s.deaf = true, true })
		s.vanish(p.Name, p.UID)
		s.set(func(s *simulated) { s.deaf = false })
		s.cut()
		if e := exit(t, l); e.Detail != "its pod has vanished; nobody saw how it ended" || e.Clean {
			t.Errorf("got %+v", e)
		}
		expectListed(t, l, 0)
		time.Sleep(time.Minute)
		expectNoExit(t, l)
	})

	scenario(t, "one that was replaced while nobody watched has ended, and its successor has not", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		j := job(launchertest.StopsWhenAsked)
		p := running(t, s, l, j)
		other := open(t, s, settings())
		s.set(func(s *simulated) { s.forgets, s.deaf = true, true })
		s.vanish(p.Name, p.UID)
		j.Generation++
		running(t, s, other, j)
		s.set(func(s *simulated) { s.deaf = false })
		s.cut()
		if e := exit(t, l); e.Generation != j.Generation-1 {
			t.Errorf("got %+v", e)
		}
		time.Sleep(time.Minute)
		expectNoExit(t, l)
		expectListed(t, l, 1)
	})

	scenario(t, "when the watch hangs, two lists find out, and it tells nothing again", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		p := running(t, s, l, job(launchertest.StopsWhenAsked))
		synctest.Wait()
		s.set(func(s *simulated) { s.deaf = true })
		s.vanish(p.Name, p.UID)
		time.Sleep(time.Second)
		expectListed(t, l, 0)
		time.Sleep(time.Second)
		expectListed(t, l, 0)
		synctest.Wait()
		expectNoExit(t, l) // the watch may just be slow
		time.Sleep(5 * time.Second)
		expectListed(t, l, 0)
		if e := exit(t, l); e.Generation != 3 {
			t.Errorf("got %+v", e)
		}
		s.set(func(s *simulated) { s.deaf = false })
		s.cut() // what was missed comes now
		time.Sleep(time.Minute)
		expectNoExit(t, l)
	})

	scenario(t, "an end that a list shows needs no watch", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		p := running(t, s, l, job(launchertest.StopsWhenAsked))
		synctest.Wait()
		s.set(func(s *simulated) { s.deaf = true })
		s.happens(p, failed("Evicted", ""))
		expectListed(t, l, 0)
		if e := exit(t, l); e.Clean {
			t.Errorf("got %+v", e)
		}
	})

	scenario(t, "a pod that was made and went unseen is missed", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		synctest.Wait()
		s.set(func(s *simulated) { s.deaf, s.noNode = true, true })
		j := job(launchertest.StopsWhenAsked)
		if err := l.Launch(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		s.vanish(j.ID.WorkerName(), "")
		for range 3 {
			time.Sleep(5 * time.Second)
			expectListed(t, l, 0)
		}
		exit(t, l)
	})

	scenario(t, "a cluster that cannot be watched is warned of, and watched later", func(t *testing.T) {
		s := simulate(t)
		s.set(func(s *simulated) { s.fail["list"] = apierrors.NewServiceUnavailable("away") })
		cfg, log := logged()
		began := time.Now()
		l := open(t, s, cfg)
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("the start took %v", took)
		}
		if _, err := l.Workers(t.Context()); err == nil {
			t.Error("it lists workers that it cannot know")
		}
		time.Sleep(time.Minute)
		if n := log.Count("cannot watch the worker pods"); n < 5 || n > 20 {
			t.Errorf("warned %d times", n)
		}
		s.set(func(s *simulated) { s.fail["list"] = nil })
		time.Sleep(10 * time.Second)
		p := running(t, s, l, job(launchertest.StopsWhenAsked))
		s.happens(p, failed("Evicted", ""))
		exit(t, l)
	})

	scenario(t, "a pod that has ended is deleted in the end", func(t *testing.T) {
		s := simulate(t)
		cfg, log := logged()
		l := open(t, s, cfg)
		p := running(t, s, l, job(launchertest.StopsWhenAsked))
		s.set(func(s *simulated) { s.fail["delete"] = errors.New("connection refused") })
		s.happens(p, failed("Evicted", ""))
		exit(t, l)
		time.Sleep(10 * time.Second)
		if !s.has(p.Name) || log.Count("could not be deleted") != 1 {
			t.Errorf("the log says\n%s", log)
		}
		s.set(func(s *simulated) { s.fail["delete"] = nil })
		time.Sleep(time.Minute)
		if s.has(p.Name) {
			t.Error("it is still there")
		}
		expectNoExit(t, l)
	})

	scenario(t, "a pod whose container is not made is warned of after a minute", func(t *testing.T) {
		s := simulate(t)
		s.set(func(s *simulated) { s.noNode = true })
		cfg, log := logged()
		l := open(t, s, cfg)
		if err := l.Launch(t.Context(), job(launchertest.StopsWhenAsked)); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		p := s.pods[job("").ID.WorkerName()]
		s.mu.Unlock()
		s.happens(p, func(p *corev1.Pod) {
			contain(p, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		})
		time.Sleep(50 * time.Second)
		if log.Count("SlowStart") != 0 {
			t.Error("too soon")
		}
		time.Sleep(5 * time.Minute)
		if n := log.Count("SlowStart"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
}
