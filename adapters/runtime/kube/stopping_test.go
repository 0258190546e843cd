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
)

func TestEnding(t *testing.T) {
	scenario(t, "a worker gets 30 s to stop (section 8.3)", func(t *testing.T) {
		s := simulate(t)
		cfg := settings()
		cfg.Grace = 0
		l := open(t, s, cfg)
		running(t, s, l, job(launchertest.IgnoresStop))
		began := time.Now()
		if err := l.Stop(t.Context(), job("").ID); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("took %v", took)
		}
		s.expectGraces(30)
	})

	scenario(t, "and 5 s to make way, even if it was being stopped", func(t *testing.T) {
		s := simulate(t)
		cfg := settings()
		cfg.Grace = 0
		l := open(t, s, cfg)
		j := job(launchertest.IgnoresStop)
		running(t, s, l, j)
		go func() { _ = l.Stop(context.Background(), j.ID) }()
		time.Sleep(time.Second)
		j.Generation++
		began := time.Now()
		running(t, s, l, j)
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("took %v", took)
		}
		s.expectGraces(30, 5)
		if e := exit(t, l); e.Generation != 3 || e.Detail != "killed by SIGKILL (exit code 137)" {
			t.Errorf("got %+v", e)
		}
		time.Sleep(time.Minute)
		expectNoExit(t, l)
		expectListed(t, l, 1) // the stop has not hit the successor
	})

	scenario(t, "on a node that does not answer it is removed by force", func(t *testing.T) {
		s := simulate(t)
		cfg, log := logged()
		l := open(t, s, cfg)
		p := running(t, s, l, job(launchertest.StopsWhenAsked))
		s.set(func(s *simulated) { s.noNode = true })
		began := time.Now()
		if err := l.Stop(t.Context(), job("").ID); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("took %v", took)
		}
		s.expectGraces(1, 0)
		if s.has(p.Name) || log.Count("removed by force") != 1 {
			t.Errorf("the log says\n%s", log)
		}
		if e := exit(t, l); e.Detail != "its pod was deleted" {
			t.Errorf("got %+v", e)
		}
	})

	scenario(t, "a deletion that comes too late does not hit the successor", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		p := running(t, s, l, job(launchertest.StopsWhenAsked))
		s.set(func(s *simulated) {
			s.atDelete = func() {
				s.store(watch.Deleted, p)
				p = p.DeepCopy()
				p.Labels["generation"] = "4"
				_, _ = s.create(p)
			}
		})
		if err := l.Stop(t.Context(), job("").ID); err != nil {
			t.Error(err)
		}
		if e := exit(t, l); e.Generation != 3 {
			t.Errorf("got %+v", e)
		}
		time.Sleep(time.Minute)
		if g := s.working(job("").ID); len(g) != 1 || g[0] != 4 {
			t.Errorf("running are %v", g)
		}
	})

	scenario(t, "a stop needs no watch", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		running(t, s, l, job(launchertest.StopsWhenAsked))
		synctest.Wait()
		s.set(func(s *simulated) { s.deaf = true })
		began := time.Now()
		if err := l.Stop(t.Context(), job("").ID); err != nil || time.Since(began) > 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})

	scenario(t, "a stop that cannot be asked for fails, soon", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		running(t, s, l, job(launchertest.StopsWhenAsked))
		s.set(func(s *simulated) { s.fail["delete"] = errors.New("connection refused") })
		began := time.Now()
		if err := l.Stop(t.Context(), job("").ID); err == nil || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})

	scenario(t, "closing waits until the cluster knows of a stop", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		p := running(t, s, l, job(launchertest.IgnoresStop))
		s.set(func(s *simulated) { s.fail["delete"] = errors.New("connection refused") })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = l.Stop(ctx, job("").ID)
		time.AfterFunc(300*time.Millisecond, func() { s.set(func(s *simulated) { s.fail["delete"] = nil }) })
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		if s.has(p.Name) {
			t.Error("it was not stopped")
		}
		if err := l.Stop(t.Context(), job("").ID); !errors.Is(err, kube.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})

	scenario(t, "but not when it may not, and says so", func(t *testing.T) {
		s := simulate(t)
		l, err := kube.New(kube.Of(s.client, namespace), settings())
		if err != nil {
			t.Fatal(err)
		}
		running(t, s, l, job(launchertest.IgnoresStop))
		s.set(func(s *simulated) { s.fail["delete"] = errors.New("connection refused") })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = l.Stop(ctx, job("").ID)
		synctest.Wait()
		if err := l.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})

	scenario(t, "nor is there anything to say when nothing is being stopped", func(t *testing.T) {
		s := simulate(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 50 {
			l, err := kube.New(kube.Of(s.client, namespace), settings())
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})
}
