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

// slowClient delays the answers to reads of a pod, and the execution of creations.
type slowClient struct {
	kubernetes.Interface
	getDelay, createDelay time.Duration
}

type slowCore struct {
	typed.CoreV1Interface
	client *slowClient
}

type slowPods struct {
	typed.PodInterface
	client *slowClient
}

func (l *slowClient) CoreV1() typed.CoreV1Interface { return slowCore{l.Interface.CoreV1(), l} }

func (c slowCore) Pods(namespace string) typed.PodInterface {
	return slowPods{c.CoreV1Interface.Pods(namespace), c.client}
}

func (p slowPods) Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Pod, error) {
	pod, err := p.PodInterface.Get(ctx, name, o)
	time.Sleep(p.client.getDelay)
	return pod, err
}

func (p slowPods) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	created := make(chan func() (*corev1.Pod, error), 1)
	time.AfterFunc(p.client.createDelay, func() {
		pod, err := p.PodInterface.Create(ctx, pod, o)
		created <- func() (*corev1.Pod, error) { return pod, err }
	})
	select {
	case answer := <-created:
		return answer()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func newSlowLauncher(t *testing.T, cluster *fakeCluster, getDelay, createDelay time.Duration) *kube.Launcher {
	t.Helper()
	client := &slowClient{Interface: cluster.client}
	l, err := kube.New(kube.NewCluster(client, namespace), settings())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	client.getDelay, client.createDelay = getDelay, createDelay
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

func TestLateAnswersDoNoHarm(t *testing.T) {
	scenario(t, "a late answer does not bring back a pod that is gone since", func(t *testing.T) {
		cluster := newFakeCluster(t)
		l := newSlowLauncher(t, cluster, 3*time.Second, 0)
		p := launch(t, cluster, l, workerSpec(launchertest.StopsWhenAsked))
		result := make(chan error, 1)
		go func() { _, err := l.Runs(t.Context(), workerSpec("").ID, 3); result <- err }()
		time.Sleep(time.Second)
		cluster.removePod(p.Name, p.UID)
		nextExit(t, l)
		if err := <-result; err != nil {
			t.Error(err)
		}
		for range 3 {
			time.Sleep(5 * time.Second)
			expectListed(t, l, 0)
		}
		expectNoExit(t, l)
	})

	scenario(t, "a stop finds the pod of a launch that was cancelled", func(t *testing.T) {
		cluster := newFakeCluster(t)
		l := newSlowLauncher(t, cluster, 0, 2*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = l.Launch(ctx, workerSpec(launchertest.StopsWhenAsked))
		if err := l.Stop(t.Context(), workerSpec("").ID); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if cluster.exists(podName) {
			t.Error("the pod still exists")
		}
	})

	scenario(t, "a late answer does not undo a change that the watch has delivered since", func(t *testing.T) {
		cluster := newFakeCluster(t)
		cluster.set(func(cluster *fakeCluster) { cluster.nodeDown = true })
		l := newSlowLauncher(t, cluster, 3*time.Second, 0)
		if err := l.Launch(t.Context(), workerSpec(launchertest.StopsWhenAsked)); err != nil {
			t.Fatal(err)
		}
		cluster.mu.Lock()
		p := cluster.pods[podName]
		cluster.mu.Unlock()
		result := make(chan error, 1)
		go func() { _, err := l.Runs(t.Context(), workerSpec("").ID, 3); result <- err }()
		time.Sleep(time.Second)
		cluster.updatePod(p, func(p *corev1.Pod) {
			setContainer(p, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		})
		if err := <-result; err != nil {
			t.Error(err)
		}
		if all, err := l.Workers(t.Context()); err != nil || len(all) != 1 || all[0].Pending {
			t.Errorf("Workers() = %+v, %v", all, err)
		}
	})
}
