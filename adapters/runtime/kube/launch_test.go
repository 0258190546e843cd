package kube_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const podName = "stream-monitor-mon-00000000000070008000000000000000"

func (f *fakeCluster) expectGraces(want ...int64) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	expect.Equal(f.t, "the grace periods of the deletions", f.deleteGraces, want)
}

func TestLaunch(t *testing.T) {
	scenario(t, "a terminating pod is not replaced by one of the same generation", func(t *testing.T) {
		cluster, l := open(t, settings())
		spec := workerSpec(launchertest.IgnoresStop)
		p := launch(t, cluster, l, spec)
		go func() { _ = l.Stop(context.Background(), spec.ID) }()
		synctest.Wait()
		must.Do(t, l.Launch(t.Context(), spec))
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
		expect.Failure(t, l.Launch(t.Context(), workerSpec(launchertest.StopsWhenAsked)), podName+" in namespace streams is not a worker of this installation")
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
		must.Do(t, newLauncher(t, cluster, settings()).Launch(t.Context(), workerSpec(launchertest.StopsWhenAsked)))
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
	expect.Equal(t, "the ID", runtimeID("", ""), "kubernetes/default/stream-monitor")
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
	expect.Failure(t, err, "Image", "GatewayURL", "Tokens", "HTTPS_PROXY", "WORKER_SECRET", "Grace")
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

func templateFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pod.yaml")
	must.Do(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

// The template changes what it names, but not the assignment, nor what tells the pod from others.
func TestAPodTemplateIsMergedByName(t *testing.T) {
	expectPod(t, launchedPod(t, func(c *kube.Config) { c.PodTemplateFile = "testdata/template.yaml" }), "merged-pod.yaml")
}

// templateWithResources is a template that sets the resources of the worker.
func templateWithResources(resources string) string {
	return "spec:\n  containers:\n  - name: monitor\n    resources: " + resources + "\n"
}

func TestALimitBelowADefaultRequestLowersTheRequest(t *testing.T) {
	for name, c := range map[string]struct{ part, want string }{
		"of memory":               {"{limits: {memory: 128Mi}}", `{"limits":{"cpu":"500m","memory":"128Mi"},"requests":{"cpu":"100m","memory":"128Mi"}}`},
		"of both":                 {"{limits: {memory: 128Mi, cpu: 50m}}", `{"limits":{"cpu":"50m","memory":"128Mi"},"requests":{"cpu":"50m","memory":"128Mi"}}`},
		"together with a request": {"{limits: {memory: 128Mi}, requests: {cpu: 10m}}", `{"limits":{"cpu":"500m","memory":"128Mi"},"requests":{"cpu":"10m","memory":"128Mi"}}`},
		"equal to a request": {"{limits: {memory: 256Mi}, requests: {memory: 256Mi}}",
			`{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m","memory":"256Mi"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := launchedPod(t, func(cfg *kube.Config) { cfg.PodTemplateFile = templateFile(t, templateWithResources(c.part)) })
			expectJSON(t, "its resources", p.Spec.Containers[0].Resources, c.want)
		})
	}
}

func TestAnInvalidPodTemplateIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"not YAML":                          {"spec: [", []string{"not the YAML of an object"}},
		"a list":                            {"- a\n- b\n", []string{"not the YAML of an object"}},
		"a duplicate field":                 {"spec: {}\nspec: {}\n", []string{"not the YAML of an object", "spec"}},
		"an unknown field":                  {"spec:\n  nodeSelektor: {}\n", []string{"no part of a PodTemplateSpec", "nodeSelektor"}},
		"a whole pod":                       {"apiVersion: v1\nkind: Pod\nspec: {}\n", []string{"no part of a PodTemplateSpec", "apiVersion"}},
		"a field of the wrong type":         {"spec:\n  containers: monitor\n", []string{"no part of a PodTemplateSpec", "containers"}},
		"an invalid quantity":               {"spec:\n  containers:\n  - name: monitor\n    resources: {limits: {memory: much}}\n", []string{"quantities"}},
		"a container without a name":        {"spec:\n  containers:\n  - image: x\n", []string{"cannot be merged", "name"}},
		"the worker's container is deleted": {"spec:\n  containers:\n  - $patch: delete\n    name: monitor\n", []string{"no container called monitor"}},
		"a request above its limit": {templateWithResources("{requests: {memory: 256Mi}, limits: {memory: 128Mi}}"),
			[]string{"container monitor", "requests.memory is 256Mi", "limits.memory is 128Mi", "lower the request or raise the limit"}},
		"a request above the default limit": {templateWithResources("{requests: {cpu: 600m}}"),
			[]string{"container monitor", "requests.cpu is 600m", "limits.cpu is 500m"}},
		"a request of a sidecar above its limit": {"spec:\n  containers:\n  - name: sidecar\n    resources: {requests: {cpu: 2}, limits: {cpu: 1}}\n",
			[]string{"container sidecar", "requests.cpu is 2", "limits.cpu is 1"}},
		"a request of an init container above its limit": {"spec:\n  initContainers:\n  - name: before\n    resources: {requests: {cpu: 2}, limits: {cpu: 1}}\n",
			[]string{"container before", "requests.cpu is 2", "limits.cpu is 1"}},
		"a file that is too long":         {"# " + strings.Repeat("x", 256<<10), []string{"longer than 262144 bytes"}},
		"an empty file, which is allowed": {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := settings()
			cfg.PodTemplateFile = templateFile(t, c.content)
			l, err := kube.New(kube.NewCluster(newFakeCluster(t).client, namespace), cfg)
			switch {
			case err == nil && c.want != nil:
				t.Error("the template was accepted")
			case err == nil:
			case c.want == nil:
				t.Error(err)
			default:
				expect.Failure(t, err, append(c.want, cfg.PodTemplateFile)...)
			}
			if l != nil {
				_ = l.Close(t.Context())
			}
		})
	}
	t.Run("a file that does not exist", func(t *testing.T) {
		cfg := settings()
		cfg.PodTemplateFile = "/missing/pod.yaml"
		expect.Failed(kube.New(kube.NewCluster(newFakeCluster(t).client, namespace), cfg))(t, "/missing/pod.yaml")
	})
}
