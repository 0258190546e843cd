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

// createDelay is how late a slowClient executes a creation.
const createDelay = 2 * time.Second

// slowClient delays the execution of creations, which their callers' contexts do not end.
type slowClient struct{ kubernetes.Interface }

type slowCore struct{ typed.CoreV1Interface }

type slowPods struct{ typed.PodInterface }

func (l slowClient) CoreV1() typed.CoreV1Interface { return slowCore{l.Interface.CoreV1()} }

func (c slowCore) Pods(namespace string) typed.PodInterface {
	return slowPods{c.CoreV1Interface.Pods(namespace)}
}

func (p slowPods) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	created := make(chan func() (*corev1.Pod, error), 1)
	time.AfterFunc(createDelay, func() {
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

func TestAStopFindsThePodOfALaunchThatWasCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newFakeCluster(t)
		l, err := kube.New(kube.NewCluster(slowClient{cluster.client}, namespace), settings())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close(context.Background()) })
		ctx, cancel := context.WithTimeout(t.Context(), createDelay/2)
		defer cancel()
		_ = l.Launch(ctx, workerSpec(launchertest.StopsWhenAsked))
		stop(t, l)
		time.Sleep(time.Minute)
		if cluster.exists(podName) {
			t.Error("the pod still exists")
		}
	})
}
