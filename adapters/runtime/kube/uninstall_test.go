package kube_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// deploy adds a Deployment with one gateway pod, which takes 5 s to stop. whileStopping
// is called just before the pod is gone.
func (f *fakeCluster) deploy(name string, whileStopping func()) (scaled *int32) {
	scaled = new(int32(3))
	conflicts, lastConflict := 3, time.Time{}
	f.client.PrependReactor("get", "deployments", func(a ktesting.Action) (bool, runtime.Object, error) {
		if a.(ktesting.GetAction).GetName() != name {
			return true, nil, apierrors.NewNotFound(appsv1.Resource("deployments"), a.(ktesting.GetAction).GetName())
		}
		if a.GetSubresource() == "scale" {
			return true, &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: autoscalingv1.ScaleSpec{Replicas: *scaled}}, nil
		}
		return true, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/component": "gateway"}}}}, nil
	})
	f.client.PrependReactor("update", "deployments", func(a ktesting.Action) (bool, runtime.Object, error) {
		if conflicts--; conflicts >= 0 {
			if time.Since(lastConflict) < 100*time.Millisecond {
				f.t.Error("a conflict was retried without a pause")
			}
			lastConflict = time.Now()
			return true, nil, apierrors.NewConflict(appsv1.Resource("deployments"), name, errors.New("changed"))
		}
		scale := a.(ktesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
		*scaled = scale.Spec.Replicas
		f.modify("gateway-1", "gateway", func(p *corev1.Pod) { // the API server's clock is an hour ahead
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.NewTime(time.Now().Add(time.Hour))), new(int64(10))
		})
		f.kubelets.Go(func() {
			if f.wait(5 * time.Second) {
				whileStopping()
				f.removePod("gateway-1", "")
			}
		})
		return true, scale, nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record("ADDED", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "gateway-1", Namespace: namespace, UID: "gateway",
		Labels: map[string]string{"app.kubernetes.io/component": "gateway"}}})
	return scaled
}

// uninstall removes an installation from a cluster, and returns what it logs.
func uninstall(ctx context.Context, cluster *fakeCluster, installation kube.Installation) (*logbuffer.Buffer, error) {
	log := &logbuffer.Buffer{}
	installation.Log = slog.New(slog.NewJSONHandler(log, nil))
	return log, kube.Uninstall(ctx, kube.NewCluster(cluster.client, namespace), installation)
}

func mustUninstall(t *testing.T, cluster *fakeCluster, installation kube.Installation) *logbuffer.Buffer {
	t.Helper()
	return must.Get(uninstall(t.Context(), cluster, installation))(t)
}

func TestUninstallStopsTheGatewaysAndThenTheWorkers(t *testing.T) {
	scenario(t, "the gateways stop first, then the workers, and another installation stays", func(t *testing.T) {
		cluster, l := open(t, settings())
		other := settings()
		other.Instance = "another"
		otherLauncher := newLauncher(t, cluster, other)
		b, c := workerSpec(launchertest.IgnoresStop), workerSpec(launchertest.StopsWhenAsked)
		b.ID, c.ID = monitor.NewID([16]byte{1, 6: 0x70, 8: 0x80}), monitor.NewID([16]byte{2, 6: 0x70, 8: 0x80})
		launch(t, cluster, l, workerSpec(launchertest.StopsWhenAsked))
		launch(t, cluster, otherLauncher, c)
		scaled := cluster.deploy("gateways", func() {
			if !cluster.exists(podName) {
				t.Error("a worker was deleted before the gateways were gone")
			}
			launch(t, cluster, l, b) // a gateway may still launch one
		})
		start := time.Now()
		log := mustUninstall(t, cluster, kube.Installation{Deployment: "gateways"})
		if *scaled != 0 {
			t.Errorf("scaled to %d", *scaled)
		}
		expectTook(t, time.Since(start), 35*time.Second, 38*time.Second)
		if cluster.exists(podName) || cluster.exists(b.ID.WorkerName()) || !cluster.exists(c.ID.WorkerName()) {
			t.Error("the wrong pods are gone or left")
		}
		expect.Text(t, "the log", log.String(), `"msg":"waiting until the pods of the gateways are gone","component":"kube","left":1`,
			`"msg":"waiting until the pods of the workers are gone","component":"kube","left":2`)
	})

	scenario(t, "the gateways may have another namespace than the workers", func(t *testing.T) {
		cluster, _, _ := startWorker(t, settings(), launchertest.StopsWhenAsked)
		scaled := cluster.deploy("gateways", func() {})
		cluster.client.ClearActions()
		must.Do(t, kube.Uninstall(t.Context(), kube.NewCluster(cluster.client, namespace), kube.Installation{Deployment: "gateways", Namespace: "release"}))
		if *scaled != 0 || cluster.exists(podName) {
			t.Error("the gateways or the worker are left")
		}
		requests := map[string]int{}
		for _, a := range cluster.client.Actions() {
			of := a.GetResource().Resource
			if list, isList := a.(ktesting.ListAction); isList && strings.Contains(list.GetListRestrictions().Labels.String(), "=gateway") {
				of = "gateways' " + of
			}
			requests[a.GetVerb()+" "+of+" in "+a.GetNamespace()]++
		}
		for _, want := range []string{"update deployments in release", "list gateways' pods in release", "list pods in " + namespace, "delete pods in " + namespace} {
			if requests[want] == 0 {
				t.Errorf("no request to %s; the requests are %v", want, requests)
			}
		}
		for _, wrong := range []string{"list gateways' pods in " + namespace, "list pods in release", "delete pods in release"} {
			if requests[wrong] > 0 {
				t.Errorf("%d requests to %s", requests[wrong], wrong)
			}
		}
	})

	scenario(t, "workers on a node that does not answer are deleted by force", func(t *testing.T) {
		cluster, _, _ := startWorker(t, settings(), launchertest.StopsWhenAsked)
		cluster.set(func(f *fakeCluster) { f.nodeDown = true })
		mustUninstall(t, cluster, kube.Installation{Deployment: "none"})
		cluster.expectGraces(30, 0)
		synctest.Wait()
	})

	scenario(t, "gateways on such a node are deleted by force after their own grace period", func(t *testing.T) {
		cluster := newFakeCluster(t)
		cluster.deploy("gateways", func() {})
		cluster.set(func(f *fakeCluster) { f.nodeDown = true })
		start := time.Now()
		log := mustUninstall(t, cluster, kube.Installation{Deployment: "gateways"})
		expectTook(t, time.Since(start), 15*time.Second, 18*time.Second)
		cluster.expectGraces(0)
		expect.Text(t, "the log", log.String(), `"msg":"a pod was not gone after its grace period, deleting it by force","component":"kube","pod":"gateway-1","grace_sec":10`)
	})

	scenario(t, "an API server that is away is waited for, and the grace period counts from the deletion", func(t *testing.T) {
		cluster, _, _ := startWorker(t, settings(), launchertest.StopsWhenAsked)
		cluster.fail(apierrors.NewServiceUnavailable("away"), "list", "delete")
		time.AfterFunc(2*time.Minute, func() { cluster.fail(nil, "list", "delete") })
		log := mustUninstall(t, cluster, kube.Installation{Deployment: "none"})
		cluster.expectGraces(30)
		if n := log.Count(`"level":"WARN","msg":"cannot delete all pods of this installation, will try again","component":"kube","role":"workers"`); n < 20 || n > 40 {
			t.Errorf("it was logged %d times", n)
		}
		expect.Text(t, "the log", log.String(), `"pause_sec":1}`, `"pause_sec":5}`)
	})

	scenario(t, "the error of an API server that stays away is returned", func(t *testing.T) {
		cluster := newFakeCluster(t)
		cluster.fail(errors.New("connection refused"), "list")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := uninstall(ctx, cluster, kube.Installation{Deployment: "none"})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		expect.Failure(t, err, "an unknown number of pods of the workers", "connection refused")
	})

	scenario(t, "a pod that stays is deleted by force once, and the error tells how many pods are left", func(t *testing.T) {
		cluster, _, _ := startWorker(t, settings(), launchertest.StopsWhenAsked)
		cluster.set(func(f *fakeCluster) { f.pods[podName].Finalizers = []string{"backup.example/keep"} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := uninstall(ctx, cluster, kube.Installation{Deployment: "none"})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 pods of the workers are left in namespace streams") {
			t.Errorf("got %v", err)
		}
		cluster.expectGraces(30, 0)
	})

	t.Run("a Deployment is required", func(t *testing.T) {
		if _, err := uninstall(t.Context(), newFakeCluster(t), kube.Installation{}); err == nil {
			t.Error("it succeeded")
		}
	})
}

func TestCheckNamesEveryMissingRight(t *testing.T) {
	cluster := newFakeCluster(t)
	var checked []string
	var refused, failing bool
	cluster.client.PrependReactor("create", "selfsubjectaccessreviews", func(a ktesting.Action) (bool, runtime.Object, error) {
		if failing {
			return true, nil, apierrors.NewUnauthorized("the token has expired")
		}
		r := a.(ktesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		attributes := r.Spec.ResourceAttributes
		checked = append(checked, attributes.Verb+" "+attributes.Resource+" in "+attributes.Namespace)
		r.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: !refused || attributes.Verb == "get", Reason: "no rule"}
		return true, r, nil
	})
	c := kube.NewCluster(cluster.client, namespace)
	must.Do(t, c.Check(t.Context()))
	if want := []string{"create pods in streams", "delete pods in streams", "get pods in streams", "list pods in streams", "watch pods in streams"}; !slices.Equal(checked, want) {
		t.Errorf("checked %v", checked)
	}
	refused = true
	if err := c.Check(t.Context()); err == nil || strings.Contains(err.Error(), "not get") {
		t.Errorf("got %v", err)
	} else {
		expect.Failure(t, err, "may not create pods in namespace streams", "may not watch pods", "no rule", "Helm")
	}
	failing = true
	expect.Failure(t, c.Check(t.Context()), "the token has expired")
}

func TestOpenFindsTheCluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	file := filepath.Join(t.TempDir(), "config")
	must.Do(t, os.WriteFile(file, []byte(`
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://api.example:6443"}}]
contexts: [{name: x, context: {cluster: c, user: u, namespace: streams}}]
users: [{name: u, user: {token: t}}]
current-context: x
`), 0o600))
	c, err := kube.Open(file)
	if err != nil || c.Namespace() != "streams" || c.WithNamespace("other").Namespace() != "other" || c.WithNamespace("").Namespace() != "streams" {
		t.Errorf("of a file: %v, %v", c, err)
	}
	t.Setenv("KUBECONFIG", file)
	if c, err := kube.Open(""); err != nil || c.Namespace() != "streams" {
		t.Errorf("of the file that KUBECONFIG names: %v, %v", c, err)
	}
	expect.Failed(kube.Open("/missing/config"))(t, "/missing/config")
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	expect.Failed(kube.Open(""))(t, "KUBECONFIG")
}
