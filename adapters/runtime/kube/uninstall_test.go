package kube_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

// deploy puts a Deployment into a cluster whose gateway takes a while to end,
// and launches a worker then.
func (s *simulated) deploy(name string, meanwhile func()) (scaled *int32) {
	scaled = new(int32(3))
	conflicts, lastConflict := 3, time.Time{}
	s.client.PrependReactor("get", "deployments", func(a ktesting.Action) (bool, runtime.Object, error) {
		if a.(ktesting.GetAction).GetName() != name {
			return true, nil, apierrors.NewNotFound(appsv1.Resource("deployments"), a.(ktesting.GetAction).GetName())
		}
		if a.GetSubresource() == "scale" {
			return true, &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: autoscalingv1.ScaleSpec{Replicas: *scaled}}, nil
		}
		return true, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/component": "gateway"}}}}, nil
	})
	s.client.PrependReactor("update", "deployments", func(a ktesting.Action) (bool, runtime.Object, error) {
		if conflicts--; conflicts >= 0 {
			if time.Since(lastConflict) < 100*time.Millisecond {
				s.t.Error("a conflict was not waited for")
			}
			lastConflict = time.Now()
			return true, nil, apierrors.NewConflict(appsv1.Resource("deployments"), name, errors.New("changed"))
		}
		scale := a.(ktesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
		*scaled = scale.Spec.Replicas
		s.change("gateway-1", "gateway", func(p *corev1.Pod) { // whose API server's clock is far ahead
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.NewTime(time.Now().Add(time.Hour))), new(int64(10))
		})
		s.kubelets.Go(func() {
			if s.pause(5 * time.Second) {
				meanwhile()
				s.vanish("gateway-1", "")
			}
		})
		return true, scale, nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store("ADDED", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "gateway-1", Namespace: namespace, UID: "gateway",
		Labels: map[string]string{"app.kubernetes.io/component": "gateway"}}})
	return scaled
}

func TestUninstall(t *testing.T) {
	scenario(t, "first the gateways end, then the workers, and nobody else's", func(t *testing.T) {
		s := simulate(t)
		l := open(t, s, settings())
		other := settings()
		other.Instance = "another"
		theirs := open(t, s, other)
		b, c := job(launchertest.IgnoresStop), job(launchertest.StopsWhenAsked)
		b.ID, c.ID = monitor.NewID([16]byte{1, 6: 0x70, 8: 0x80}), monitor.NewID([16]byte{2, 6: 0x70, 8: 0x80})
		running(t, s, l, job(launchertest.StopsWhenAsked))
		running(t, s, theirs, c)
		scaled := s.deploy("gateways", func() {
			if !s.has(podName) {
				t.Error("a worker was ended before the gateways were")
			}
			running(t, s, l, b) // the last thing a gateway does
		})
		log := &logbuffer.Buffer{}
		began := time.Now()
		err := kube.Uninstall(t.Context(), kube.Of(s.client, namespace), kube.Installation{Deployment: "gateways",
			Log: slog.New(slog.NewJSONHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if *scaled != 0 {
			t.Errorf("scaled to %d", *scaled)
		}
		if took := time.Since(began); took < 35*time.Second || took > 38*time.Second {
			t.Errorf("took %v", took)
		}
		if s.has(podName) || s.has(b.ID.WorkerName()) || !s.has(c.ID.WorkerName()) {
			t.Error("the wrong pods are left")
		}
		expectContains(t, log.String(), `"msg":"ending the pods of gateways","component":"kube","left":1`, `"msg":"ending the pods of workers","component":"kube","left":2`)
	})

	scenario(t, "workers on a node that does not answer are removed by force", func(t *testing.T) {
		s := simulate(t)
		running(t, s, open(t, s, settings()), job(launchertest.StopsWhenAsked))
		s.set(func(s *simulated) { s.noNode = true })
		if err := kube.Uninstall(t.Context(), kube.Of(s.client, namespace), kube.Installation{Deployment: "none"}); err != nil {
			t.Fatal(err)
		}
		s.expectGraces(30, 0)
		synctest.Wait()
	})

	scenario(t, "so are gateways, by their own grace", func(t *testing.T) {
		s := simulate(t)
		s.deploy("gateways", func() {})
		s.set(func(s *simulated) { s.noNode = true })
		log, began := &logbuffer.Buffer{}, time.Now()
		if err := kube.Uninstall(t.Context(), kube.Of(s.client, namespace), kube.Installation{Deployment: "gateways",
			Log: slog.New(slog.NewJSONHandler(log, nil))}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 15*time.Second || took > 18*time.Second {
			t.Errorf("took %v, want its 10 s and 5 s more", took)
		}
		s.expectGraces(0)
		expectContains(t, log.String(), `"msg":"a pod does not go, it is removed by force","component":"kube","pod":"gateway-1","grace_sec":10`)
	})

	scenario(t, "an API server that is away for a while is waited for, and the worker's grace counts from when it knows", func(t *testing.T) {
		s := simulate(t)
		running(t, s, open(t, s, settings()), job(launchertest.StopsWhenAsked))
		away := func(err error) func() {
			return func() { s.set(func(s *simulated) { s.fail["list"], s.fail["delete"] = err, err }) }
		}
		away(apierrors.NewServiceUnavailable("away"))()
		time.AfterFunc(2*time.Minute, away(nil))
		log := &logbuffer.Buffer{}
		if err := kube.Uninstall(t.Context(), kube.Of(s.client, namespace), kube.Installation{Deployment: "none",
			Log: slog.New(slog.NewJSONHandler(log, nil))}); err != nil {
			t.Fatal(err)
		}
		s.expectGraces(30)
		if n := log.Count(`"level":"WARN","msg":"cannot end the pods of this installation, will try again","component":"kube","of":"workers"`); n < 20 || n > 40 {
			t.Errorf("it was said %d times", n)
		}
		expectContains(t, log.String(), `"pause_sec":1}`, `"pause_sec":5}`)
	})

	scenario(t, "one that stays away is named in the end", func(t *testing.T) {
		s := simulate(t)
		s.set(func(s *simulated) { s.fail["list"] = errors.New("connection refused") })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := kube.Uninstall(ctx, kube.Of(s.client, namespace), kube.Installation{Deployment: "none"})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		expectContains(t, err.Error(), "an unknown number of pods of workers", "connection refused")
	})

	scenario(t, "what is left when there is no more time is said", func(t *testing.T) {
		s := simulate(t)
		running(t, s, open(t, s, settings()), job(launchertest.IgnoresStop))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := kube.Uninstall(ctx, kube.Of(s.client, namespace), kube.Installation{Deployment: "none"})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 pods of workers are left in namespace streams") {
			t.Errorf("got %v", err)
		}
	})

	t.Run("a Deployment is required", func(t *testing.T) {
		if err := kube.Uninstall(t.Context(), kube.Of(simulate(t).client, namespace), kube.Installation{}); err == nil {
			t.Error("it did something")
		}
	})
}
