//go:build cluster

package kube_test

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// These tests need a real cluster: STREAM_MONITOR_TEST_KUBECONFIG says how to
// reach it, and STREAM_MONITOR_TEST_IMAGE names an image with a shell that it
// has or can pull, busybox:1.37 if unset.
const (
	kubeconfigVariable = "STREAM_MONITOR_TEST_KUBECONFIG"
	imageVariable      = "STREAM_MONITOR_TEST_IMAGE"
)

// patience is for a cluster with much to do, and a kubelet that pauses for half a
// minute before a fourth crash.
const patience = 150 * time.Second

// behaving is a worker that does what launchertest wants of it.
const behaving = `
spec:
  containers:
  - name: monitor
    imagePullPolicy: IfNotPresent
    command:
    - sh
    - -c
    - |
      case "$STREAM_URL" in
      *obedient---) trap 'exit 0' TERM; touch /tmp/ready; while :; do sleep 1 & wait $!; done;;
      *stubborn---) trap '' TERM; touch /tmp/ready; while :; do sleep 1; done;;
      *crashing---) exit 7;;
      *finishing--) exit 0;;
      esac
    livenessProbe: null
    readinessProbe:
      httpGet: null
      exec: {command: [test, -f, /tmp/ready]}
      periodSeconds: 1
    resources:
      requests: {cpu: 1m, memory: 4Mi}
`

// actual is a namespace of a real cluster, which is deleted with the test.
type actual struct {
	t      *testing.T
	client kubernetes.Interface
	*kube.Cluster
}

func realCluster(t *testing.T) *actual {
	t.Helper()
	file := os.Getenv(kubeconfigVariable)
	if file == "" {
		t.Fatalf("%s must name a kubeconfig", kubeconfigVariable)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 200, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := kube.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	ns, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "launcher-test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := &actual{t, client, opened.In(ns.Name)}
	t.Cleanup(func() {
		for _, p := range r.pods("") {
			_ = client.CoreV1().Pods(ns.Name).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		}
		if err := client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	until(t, "the namespace's service account", func() bool {
		_, err := client.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	_, err = client.CoreV1().Secrets(ns.Name).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "keys"}, StringData: map[string]string{"INTERNAL_API_KEY": "internal-key"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *actual) pods(selector string) []corev1.Pod {
	r.t.Helper()
	list, err := r.client.CoreV1().Pods(r.Namespace()).List(context.Background(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		r.t.Fatal(err)
	}
	return list.Items
}

// launcher is one whose workers behave, or as the template says.
func (r *actual) launcher(template string) *kube.Launcher {
	r.t.Helper()
	return r.launcherOf(r.Cluster, template, nil)
}

func (r *actual) launcherOf(c *kube.Cluster, template string, log *slog.Logger) *kube.Launcher {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "pod.yaml")
	if err := os.WriteFile(file, []byte(template), 0o600); err != nil {
		r.t.Fatal(err)
	}
	l, err := kube.New(c, kube.Config{
		Image: cmp.Or(os.Getenv(imageVariable), "busybox:1.37"), GatewayURL: "https://gateway:8081", Secret: "keys",
		Template: file, Grace: 2 * time.Second, Log: log,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

func (r *actual) ready(id monitor.ID) (all []int) {
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

func (r *actual) harness() launchertest.Harness {
	l := r.launcher(behaving)
	return launchertest.Harness{
		Launcher: l, Close: l.Close, Alive: r.ready, KeepsWorkers: true,
		Kill: func(id monitor.ID) {
			if err := r.client.CoreV1().Pods(r.Namespace()).Delete(context.Background(), id.WorkerName(),
				metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
				r.t.Error(err)
			}
		},
		GracePeriod: 2 * time.Second, Timeout: patience,
	}
}
