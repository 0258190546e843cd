//go:build cluster

package kube_test

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// These tests need a real cluster. STREAM_MONITOR_TEST_KUBECONFIG names its
// kubeconfig. STREAM_MONITOR_TEST_IMAGE names an image with a shell that the
// cluster has or can pull; default: busybox:1.37.
const (
	kubeconfigEnv = "STREAM_MONITOR_TEST_KUBECONFIG"
	imageEnv      = "STREAM_MONITOR_TEST_IMAGE"
)

// scriptedWorker is a pod template whose worker behaves as launchertest demands.
//
//go:embed testdata/scripted-worker.yaml
var scriptedWorker string

// testNamespace is a namespace of a real cluster. It is deleted with the test.
type testNamespace struct {
	t      *testing.T
	client kubernetes.Interface
	*kube.Cluster
}

func newTestNamespace(t *testing.T) *testNamespace {
	t.Helper()
	file := os.Getenv(kubeconfigEnv)
	if file == "" {
		t.Fatalf("%s must name a kubeconfig", kubeconfigEnv)
	}
	config := must.Get(clientcmd.BuildConfigFromFlags("", file))(t)
	config.QPS, config.Burst = 200, 200
	client := must.Get(kubernetes.NewForConfig(config))(t)
	opened := must.Get(kube.Open(file))(t)
	ctx := context.Background()
	ns := must.Get(client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "launcher-test-"}}, metav1.CreateOptions{}))(t)
	r := &testNamespace{t, client, opened.WithNamespace(ns.Name)}
	t.Cleanup(func() {
		for _, p := range r.pods("") {
			_ = client.CoreV1().Pods(ns.Name).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		}
		must.Do(t, client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}))
	})
	waitFor(t, "the namespace's service account", func() bool {
		_, err := client.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	return r
}

func (r *testNamespace) pods(selector string) []corev1.Pod {
	r.t.Helper()
	return must.Get(r.client.CoreV1().Pods(r.Namespace()).List(context.Background(), metav1.ListOptions{LabelSelector: selector}))(r.t).Items
}

// launcher returns a launcher with a pod template.
func (r *testNamespace) launcher(template string) *kube.Launcher {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "pod.yaml")
	must.Do(r.t, os.WriteFile(file, []byte(template), 0o600))
	return must.Get(kube.New(r.Cluster, kube.Config{
		Image: cmp.Or(os.Getenv(imageEnv), "busybox:1.37"), GatewayURL: "https://gateway:8081", Tokens: monitor.NewTokenKey("internal-key"),
		PodTemplateFile: file, Grace: 2 * time.Second,
	}))(r.t)
}

func (r *testNamespace) readyGenerations(id monitor.ID) (all []int) {
	r.t.Helper()
	for _, p := range r.pods("monitor-id=" + string(id)) {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				generation, _ := strconv.Atoi(p.Labels["generation"])
				all = append(all, generation)
			}
		}
	}
	return all
}

func (r *testNamespace) harness() launchertest.Harness {
	l := r.launcher(scriptedWorker)
	return launchertest.Harness{
		Launcher: l, Close: l.Close, Alive: r.readyGenerations, KeepsWorkers: true,
		Kill: func(id monitor.ID) {
			if err := r.client.CoreV1().Pods(r.Namespace()).Delete(context.Background(), id.WorkerName(),
				metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
				r.t.Error(err)
			}
		},
		GracePeriod: 2 * time.Second, Timeout: patience,
	}
}

func TestLauncherInARealCluster(t *testing.T) {
	t.Parallel()
	launchertest.Run(t, func(t *testing.T) launchertest.Harness { return newTestNamespace(t).harness() })
}

func TestLauncherAdoptsPodsInARealCluster(t *testing.T) {
	t.Parallel()
	launchertest.RunAdoption(t, func(t *testing.T, running []supervisor.WorkerSpec) launchertest.Harness {
		r := newTestNamespace(t)
		earlier := r.harness()
		for _, spec := range running {
			must.Do(t, earlier.Launcher.Launch(t.Context(), spec))
		}
		for _, spec := range running {
			waitFor(t, "the worker", func() bool { return len(r.readyGenerations(spec.ID)) > 0 })
		}
		must.Do(t, earlier.Close(t.Context()))
		return r.harness()
	})
}

func TestAnExitDescribesTheEndInARealCluster(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, limit, detail string }{
		{"out of memory", "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", "24Mi", "OOMKilled"},
		{"an exit code, repeatedly", "exit 3", "24Mi", "exit code 3"},
		{"exit code 0", "exit 0", "24Mi", "exit code 0"},
		{"the environment reaches the worker without expansion",
			`[ "$CALLBACK_URL" = 'https://receiver.example/$$(INTERNAL_API_KEY)?$$$$x' ] && [ "${INTERNAL_API_KEY%.*}" = "v1.$MONITOR_ID.$GENERATION" ] && ` +
				`[ "$(id -u)" = 65532 ] && touch /tmp/segments/x /tmp/x && ! touch /x && [ ! -e /var/run/secrets/kubernetes.io ]`, "24Mi", "exit code 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newTestNamespace(t)
			l := r.launcher(fmt.Sprintf("spec:\n  containers:\n  - name: monitor\n    imagePullPolicy: IfNotPresent\n    command: [sh, -c, %q]\n"+
				"    resources: {requests: {cpu: 1m, memory: 4Mi}, limits: {memory: %s}}\n", c.script, c.limit))
			defer func() { _ = l.Close(context.Background()) }()
			spec := workerSpec(launchertest.StopsWhenAsked)
			spec.CallbackURL = "https://receiver.example/$(INTERNAL_API_KEY)?$$x"
			must.Do(t, l.Launch(t.Context(), spec))
			e := nextExit(t, l)
			expect.Text(t, "the exit", e.Detail, c.detail)
			t.Log(e.Detail)
			waitFor(t, "the pod to be deleted", func() bool { return len(r.pods("")) == 0 })
		})
	}
}

func TestAnEvictionIsDescribedInARealCluster(t *testing.T) {
	t.Parallel()
	r := newTestNamespace(t)
	l := r.launcher(scriptedWorker)
	defer func() { _ = l.Close(context.Background()) }()
	spec := workerSpec(launchertest.StopsWhenAsked)
	must.Do(t, l.Launch(t.Context(), spec))
	waitFor(t, "the worker", func() bool { return len(r.readyGenerations(spec.ID)) == 1 })
	must.Do(t, r.client.PolicyV1().Evictions(r.Namespace()).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{
		Name: spec.ID.WorkerName(), Namespace: r.Namespace()}}))
	expect.Text(t, "the exit", nextExit(t, l).Detail, "exit code 0", "its pod was disrupted (EvictionByEvictionAPI)")
}
