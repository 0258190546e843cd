package kube_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
)

// lagging is a client whose lists are long under way, once they are made, and
// whose creations are, before they are.
type lagging struct {
	kubernetes.Interface
	lists, creations time.Duration
}

type laggingCore struct {
	typed.CoreV1Interface
	of *lagging
}

type laggingPods struct {
	typed.PodInterface
	of *lagging
}

func (l *lagging) CoreV1() typed.CoreV1Interface { return laggingCore{l.Interface.CoreV1(), l} }

func (c laggingCore) Pods(namespace string) typed.PodInterface {
	return laggingPods{c.CoreV1Interface.Pods(namespace), c.of}
}

func (p laggingPods) List(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
	list, err := p.PodInterface.List(ctx, o)
	time.Sleep(p.of.lists)
	return list, err
}

func (p laggingPods) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	made := make(chan func() (*corev1.Pod, error), 1)
	time.AfterFunc(p.of.creations, func() {
		pod, err := p.PodInterface.Create(ctx, pod, o)
		made <- func() (*corev1.Pod, error) { return pod, err }
	})
	select {
	case answer := <-made:
		return answer()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func openLagging(t *testing.T, s *simulated, lists, creations time.Duration) *kube.Launcher {
	t.Helper()
	client := &lagging{Interface: s.client}
	l, err := kube.New(kube.Of(client, namespace), settings())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	client.lists, client.creations = lists, creations
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

func TestAnswersThatComeLate(t *testing.T) {
	scenario(t, "a list that shows what has gone since brings nothing back", func(t *testing.T) {
		s := simulate(t)
		l := openLagging(t, s, 3*time.Second, 0)
		p := running(t, s, l, job(launchertest.StopsWhenAsked))
		asked := make(chan error, 1)
		go func() { _, err := l.Workers(t.Context()); asked <- err }()
		time.Sleep(time.Second)
		s.vanish(p.Name, p.UID)
		exit(t, l)
		if err := <-asked; err != nil {
			t.Error(err)
		}
		for range 3 {
			time.Sleep(5 * time.Second)
			expectListed(t, l, 0)
		}
		expectNoExit(t, l)
	})

	scenario(t, "a launch that is cut short leaves nothing that a stop does not find", func(t *testing.T) {
		s := simulate(t)
		l := openLagging(t, s, 0, 2*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = l.Launch(ctx, job(launchertest.StopsWhenAsked))
		if err := l.Stop(t.Context(), job("").ID); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if s.has(podName) {
			t.Error("it runs")
		}
	})

	scenario(t, "lists that were asked for before a worker was launched say nothing of it", func(t *testing.T) {
		s := simulate(t)
		l := openLagging(t, s, 20*time.Second, 0)
		asked := make(chan error, 2)
		for range 2 {
			go func() { _, err := l.Workers(t.Context()); asked <- err }()
			time.Sleep(6 * time.Second)
		}
		running(t, s, l, job(launchertest.StopsWhenAsked))
		for range 2 {
			if err := <-asked; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		expectNoExit(t, l)
	})

	scenario(t, "lists that lack it now and then say nothing of it, either", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		running(t, s, l, job(launchertest.StopsWhenAsked))
		for n := range 6 {
			time.Sleep(10 * time.Second)
			s.set(func(s *simulated) { s.hides = n%2 == 0 })
			expectListed(t, l, n%2)
		}
		synctest.Wait()
		expectNoExit(t, l)
	})
}
