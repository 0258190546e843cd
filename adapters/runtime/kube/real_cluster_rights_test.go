//go:build cluster

package kube_test

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

// withRights returns the cluster with the credentials of a service account that has these rights.
func (r *testNamespace) withRights(name string, rules ...rbacv1.PolicyRule) *kube.Cluster {
	r.t.Helper()
	ctx, ns := context.Background(), r.Namespace()
	meta := metav1.ObjectMeta{Name: name}
	_, err := r.client.CoreV1().ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	must(r.t, err)
	_, err = r.client.RbacV1().Roles(ns).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	must(r.t, err)
	_, err = r.client.RbacV1().RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: ns}}}, metav1.CreateOptions{})
	must(r.t, err)
	token, err := r.client.CoreV1().ServiceAccounts(ns).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(r.t, err)
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(kubeconfigEnv))
	must(r.t, err)
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = token.Status.Token
	client, err := kubernetes.NewForConfig(config)
	must(r.t, err)
	return kube.NewCluster(client, ns)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func rule(group, resources string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Split(resources, ","), Verbs: verbs}
}

func TestTheStatedRightsAreEnoughInARealCluster(t *testing.T) {
	t.Parallel()
	r := newTestNamespace(t)

	t.Run("the rights of section 14.3 are enough for a gateway", func(t *testing.T) {
		c := r.withRights("gateway", rule("", "pods", "create", "delete", "get", "list", "watch"), rule("", "pods/log", "get"))
		waitFor(t, "the rights", func() bool { return c.Check(t.Context()) == nil })
		log := &logbuffer.Buffer{}
		l := r.launcherOf(c, scriptedWorker, slog.New(slog.NewJSONHandler(log, nil)))
		defer func() { _ = l.Close(context.Background()) }()
		spec := workerSpec(launchertest.StopsWhenAsked)
		must(t, l.Launch(t.Context(), spec))
		waitFor(t, "the worker", func() bool { return len(r.readyGenerations(spec.ID)) == 1 })
		expectListed(t, l, 1)
		must(t, l.Stop(t.Context(), spec.ID))
		if e := nextExit(t, l); !e.Clean {
			t.Errorf("got %+v", e)
		}
		if log.Count(`"level":"WARN"`) > 0 {
			t.Errorf("the log is\n%s", log)
		}
	})

	t.Run("Uninstall stops the gateways and then the workers", func(t *testing.T) {
		c := r.withRights("uninstall", rule("apps", "deployments,deployments/scale", "get", "update"), rule("", "pods", "list", "watch", "get", "delete"))
		l := r.launcher(scriptedWorker)
		defer func() { _ = l.Close(context.Background()) }()
		labels := map[string]string{"app.kubernetes.io/component": "gateway"}
		_, err := r.client.AppsV1().Deployments(r.Namespace()).Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "gateways"},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(1)), Containers: []corev1.Container{{Name: "gateway",
						Image: cmp.Or(os.Getenv(imageEnv), "busybox:1.37"), Command: []string{"sleep", "3600"}}}},
				},
			},
		}, metav1.CreateOptions{})
		must(t, err)
		spec := workerSpec(launchertest.StopsWhenAsked)
		must(t, l.Launch(t.Context(), spec))
		waitFor(t, "gateways and worker", func() bool { return len(r.pods("")) == 3 && len(r.readyGenerations(spec.ID)) == 1 })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		must(t, kube.Uninstall(ctx, c, kube.Installation{Deployment: "gateways", Grace: 2 * time.Second}))
		if left := r.pods(""); len(left) > 0 {
			t.Errorf("%d pods are left", len(left))
		}
	})
}

func TestAnEvictionIsDescribedInARealCluster(t *testing.T) {
	t.Parallel()
	r := newTestNamespace(t)
	l := r.launcher(scriptedWorker)
	defer func() { _ = l.Close(context.Background()) }()
	spec := workerSpec(launchertest.StopsWhenAsked)
	must(t, l.Launch(t.Context(), spec))
	waitFor(t, "the worker", func() bool { return len(r.readyGenerations(spec.ID)) == 1 })
	must(t, r.client.PolicyV1().Evictions(r.Namespace()).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{
		Name: spec.ID.WorkerName(), Namespace: r.Namespace()}}))
	e := nextExit(t, l)
	expectContains(t, e.Detail, "exit code 0", "its pod was disrupted (EvictionByEvictionAPI)")
	t.Log(e.Detail)
}
