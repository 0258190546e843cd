package kube_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
)

const podName = "stream-monitor-mon-00000000000070008000000000000000"

func (s *simulated) expectCalls(want ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.calls, want) {
		s.t.Errorf("asked for were %v, want %v", s.calls, want)
	}
}

func (s *simulated) expectGraces(want ...int64) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.graces, want) {
		s.t.Errorf("deleted with a grace of %v, want %v", s.graces, want)
	}
}

func TestLaunching(t *testing.T) {
	scenario(t, "a pod that another gateway has made meanwhile is as good", func(t *testing.T) {
		s := simulate(t)
		a, b := open(t, s, settings()), open(t, s, settings())
		running(t, s, a, job(launchertest.StopsWhenAsked))
		if err := b.Launch(t.Context(), job(launchertest.StopsWhenAsked)); err != nil {
			t.Error(err)
		}
		s.expectCalls("create " + podName + " 3")
	})

	scenario(t, "a creation whose answer was lost is found", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Launch(ctx, job(launchertest.StopsWhenAsked)); !errors.Is(err, context.Canceled) && err != nil {
			t.Error(err)
		}
		running(t, s, l, job(launchertest.StopsWhenAsked))
		s.expectCalls("create " + podName + " 3")
	})

	scenario(t, "a pod that is being deleted is not launched over in its generation", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		j := job(launchertest.IgnoresStop)
		p := running(t, s, l, j)
		go func() { _ = l.Stop(context.Background(), j.ID) }()
		synctest.Wait()
		if err := l.Launch(t.Context(), j); err != nil {
			t.Error(err)
		}
		expectListed(t, l, 1)
		exit(t, l)
		time.Sleep(time.Second)
		if s.has(p.Name) {
			t.Error("it was launched again")
		}
	})

	scenario(t, "what is left of one that has ended makes way", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		p := running(t, s, l, job(launchertest.StopsWhenAsked))
		s.set(func(s *simulated) { s.fail["delete"] = errors.New("connection refused") })
		s.happens(p, failed("Evicted", ""))
		exit(t, l)
		time.Sleep(2 * time.Second)
		s.set(func(s *simulated) { s.fail["delete"] = nil })
		running(t, s, l, job(launchertest.StopsWhenAsked))
		expectNoExit(t, l)
	})

	scenario(t, "a pod of somebody else's is left alone, and said", func(t *testing.T) {
		s := simulate(t)
		other := settings()
		other.Instance = "another"
		theirs := open(t, s, other)
		p := running(t, s, theirs, job(launchertest.StopsWhenAsked))
		l := open(t, s, settings())
		err := l.Launch(t.Context(), job(launchertest.StopsWhenAsked))
		if err == nil || !strings.Contains(err.Error(), podName+" in namespace streams is none of this installation") {
			t.Errorf("got %v", err)
		}
		if err := l.Stop(t.Context(), job("").ID); err != nil {
			t.Error(err)
		}
		expectListed(t, l, 0)
		s.happens(p, failed("Evicted", ""))
		exit(t, theirs)
		expectNoExit(t, l)
	})

	scenario(t, "a pod that has a worker's labels and no worker's name is none", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		p := running(t, s, l, job(launchertest.StopsWhenAsked))
		p.Name = "copy-of-" + p.Name
		s.set(func(s *simulated) { _, _ = s.create(p) })
		time.Sleep(time.Second)
		expectListed(t, l, 1)
		s.vanish(p.Name, "")
		time.Sleep(time.Second)
		expectNoExit(t, l)
	})

	scenario(t, "a refusal is said in the words of the API server, at once", func(t *testing.T) {
		s := simulate(t)
		s.set(func(s *simulated) {
			s.fail["create"] = apierrors.NewForbidden(podResource, podName, errors.New("exceeded quota: streams"))
		})
		l := open(t, s, settings())
		began := time.Now()
		err := l.Launch(t.Context(), job(launchertest.StopsWhenAsked))
		if err == nil || !strings.Contains(err.Error(), "exceeded quota: streams") || time.Since(began) > 0 {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})

	scenario(t, "where nothing more can be made, what runs is adopted", func(t *testing.T) {
		s := simulate(t)
		running(t, s, open(t, s, settings()), job(launchertest.StopsWhenAsked))
		s.set(func(s *simulated) {
			s.fail["create"] = apierrors.NewForbidden(podResource, podName, errors.New("exceeded quota"))
		})
		if err := open(t, s, settings()).Launch(t.Context(), job(launchertest.StopsWhenAsked)); err != nil {
			t.Error(err)
		}
	})

	scenario(t, "what may pass is tried a few times", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		s.set(func(s *simulated) { s.fail["get"] = apierrors.NewTooManyRequests("later", 1) })
		time.AfterFunc(300*time.Millisecond, func() { s.set(func(s *simulated) { s.fail["get"] = nil }) })
		running(t, s, l, job(launchertest.StopsWhenAsked))
	})
}

func TestPlace(t *testing.T) {
	s := simulate(t)
	place := func(namespace, instance string) string {
		cfg := settings()
		cfg.Instance = instance
		l, err := kube.New(kube.Of(s.client, "default").In(namespace), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close(t.Context()) }()
		p := l.Runtime()
		if !p.Shared || p.NotFoundMessage != "Pod not found in Kubernetes cluster" || len(p.ID) < 1 || len(p.ID) > 63 {
			t.Errorf("it is %+v", p)
		}
		return p.ID
	}
	if id := place("", ""); id != "kubernetes/default/stream-monitor" {
		t.Errorf("it is %q", id)
	}
	long := strings.Repeat("x", 60)
	seen := map[string]bool{}
	for _, of := range [][2]string{{"a", "b-c"}, {"a-b", "c"}, {long, "a"}, {long, "b"}, {long + "a", "b"}, {long, long}} {
		seen[place(of[0], of[1])] = true
	}
	if len(seen) != 6 {
		t.Errorf("of six places there are %d: %v", len(seen), seen)
	}
}

func TestConfigIsChecked(t *testing.T) {
	_, err := kube.New(kube.Of(simulate(t).client, namespace), kube.Config{
		Grace: -1, Environ: []string{"A=b", "API_KEY=geheim", "DB_DSN=geheim", "WEBHOOK_SIGNING_KEY=geheim", "INTERNAL_API_KEY=geheim"}})
	if err == nil {
		t.Fatal("it was taken")
	}
	expectContains(t, err.Error(), "Image", "GatewayURL", "Secret", "API_KEY", "DB_DSN", "WEBHOOK_SIGNING_KEY", "INTERNAL_API_KEY", "Grace")
	if strings.Contains(err.Error(), "geheim") {
		t.Errorf("%v reveals a secret", err)
	}
}
