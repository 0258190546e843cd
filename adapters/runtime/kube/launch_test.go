package kube_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const podName = "stream-monitor-mon-00000000000070008000000000000000"

func (f *fakeCluster) expectGraces(want ...int64) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.deleteGraces, want) {
		f.t.Errorf("the grace periods of the deletions are %v, want %v", f.deleteGraces, want)
	}
}

func TestLaunch(t *testing.T) {
	scenario(t, "a terminating pod is not replaced by one of the same generation", func(t *testing.T) {
		cluster, l := open(t, settings())
		spec := workerSpec(launchertest.IgnoresStop)
		p := launch(t, cluster, l, spec)
		go func() { _ = l.Stop(context.Background(), spec.ID) }()
		synctest.Wait()
		if err := l.Launch(t.Context(), spec); err != nil {
			t.Error(err)
		}
		expectListed(t, l, 1)
		nextExit(t, l)
		time.Sleep(time.Second)
		if cluster.exists(p.Name) {
			t.Error("the pod was created again")
		}
	})

	scenario(t, "the pod of an ended worker is replaced", func(t *testing.T) {
		cluster, l, p := startWorker(t, settings(), launchertest.StopsWhenAsked)
		cluster.fail(errors.New("connection refused"), "delete")
		cluster.updatePod(p, failed("Evicted", ""))
		nextExit(t, l)
		time.Sleep(2 * time.Second)
		cluster.fail(nil, "delete")
		launch(t, cluster, l, workerSpec(launchertest.StopsWhenAsked))
		expectNoExit(t, l)
	})

	scenario(t, "a pod of another installation is left alone, and named in the error", func(t *testing.T) {
		cluster := newFakeCluster(t)
		other := settings()
		other.Instance = "another"
		otherLauncher := newLauncher(t, cluster, other)
		p := launch(t, cluster, otherLauncher, workerSpec(launchertest.StopsWhenAsked))
		l := newLauncher(t, cluster, settings())
		err := l.Launch(t.Context(), workerSpec(launchertest.StopsWhenAsked))
		if err == nil || !strings.Contains(err.Error(), podName+" in namespace streams is not a worker of this installation") {
			t.Errorf("got %v", err)
		}
		stop(t, l)
		expectListed(t, l, 0)
		cluster.updatePod(p, failed("Evicted", ""))
		nextExit(t, otherLauncher)
		expectNoExit(t, l)
	})

	scenario(t, "a pod with a worker's labels and another name is ignored", func(t *testing.T) {
		cluster, l, p := startWorker(t, settings(), launchertest.StopsWhenAsked)
		p.Name = "copy-of-" + p.Name
		cluster.set(func(f *fakeCluster) { _, _ = f.create(p) })
		time.Sleep(time.Second)
		expectListed(t, l, 1)
		cluster.removePod(p.Name, "")
		expectNoExitFor(t, l, time.Second)
	})

	scenario(t, "the refusal of the API server is returned at once", func(t *testing.T) {
		cluster := newFakeCluster(t)
		cluster.fail(apierrors.NewForbidden(podResource, podName, errors.New("exceeded quota: streams")), "create")
		l := newLauncher(t, cluster, settings())
		start := time.Now()
		err := l.Launch(t.Context(), workerSpec(launchertest.StopsWhenAsked))
		if err == nil || !strings.Contains(err.Error(), "exceeded quota: streams") || time.Since(start) > 0 {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})

	scenario(t, "a running worker is adopted even if the quota is exhausted", func(t *testing.T) {
		cluster, _, _ := startWorker(t, settings(), launchertest.StopsWhenAsked)
		cluster.fail(apierrors.NewForbidden(podResource, podName, errors.New("exceeded quota")), "create")
		if err := newLauncher(t, cluster, settings()).Launch(t.Context(), workerSpec(launchertest.StopsWhenAsked)); err != nil {
			t.Error(err)
		}
	})

	scenario(t, "a temporary error is retried", func(t *testing.T) {
		cluster, l := open(t, settings())
		cluster.fail(apierrors.NewTooManyRequests("later", 1), "get")
		time.AfterFunc(300*time.Millisecond, func() { cluster.fail(nil, "get") })
		launch(t, cluster, l, workerSpec(launchertest.StopsWhenAsked))
	})
}

func TestTheRuntimeIDNamesTheInstallation(t *testing.T) {
	cluster := newFakeCluster(t)
	runtimeID := func(namespace, instance string) string {
		cfg := settings()
		cfg.Instance = instance
		l := must.Get(kube.New(kube.NewCluster(cluster.client, "default").WithNamespace(namespace), cfg))(t)
		defer func() { _ = l.Close(t.Context()) }()
		p := l.Runtime()
		if !p.Shared || p.NotFoundMessage != "Pod not found in Kubernetes cluster" || len(p.ID) < 1 || len(p.ID) > 63 {
			t.Errorf("Runtime() = %+v", p)
		}
		return p.ID
	}
	if id := runtimeID("", ""); id != "kubernetes/default/stream-monitor" {
		t.Errorf("the ID is %q", id)
	}
	long := strings.Repeat("x", 60)
	seen := map[string]bool{}
	for _, installation := range [][2]string{{"a", "b-c"}, {"a-b", "c"}, {long, "a"}, {long, "b"}, {long + "a", "b"}, {long, long}} {
		seen[runtimeID(installation[0], installation[1])] = true
	}
	if len(seen) != 6 {
		t.Errorf("six installations have %d IDs: %v", len(seen), seen)
	}
}

func TestAnInvalidConfigIsRefused(t *testing.T) {
	_, err := kube.New(kube.NewCluster(newFakeCluster(t).client, namespace), kube.Config{
		Grace: -1, Environ: []string{"A=b", "HTTPS_PROXY=http://u:geheim@proxy"}})
	if err == nil {
		t.Fatal("the config was accepted")
	}
	expectContains(t, err.Error(), "Image", "GatewayURL", "Tokens", "HTTPS_PROXY", "WORKER_SECRET", "Grace")
	if strings.Contains(err.Error(), "geheim") {
		t.Errorf("%v reveals a secret", err)
	}
}

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
		l := must.Get(kube.New(kube.NewCluster(slowClient{cluster.client}, namespace), settings()))(t)
		t.Cleanup(func() { _ = l.Close(context.Background()) })
		ctx, cancel := context.WithTimeout(t.Context(), createDelay/2)
		defer cancel()
		_ = l.Launch(ctx, workerSpec(launchertest.StopsWhenAsked))
		stop(t, l)
		time.Sleep(time.Minute)
		cluster.expectGone(podName)
	})
}
