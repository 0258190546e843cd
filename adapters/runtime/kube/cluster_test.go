package kube_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

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
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if want := []string{"create pods in streams", "delete pods in streams", "get pods in streams", "list pods in streams", "watch pods in streams"}; !slices.Equal(checked, want) {
		t.Errorf("checked %v", checked)
	}
	refused = true
	if err := c.Check(t.Context()); err == nil || strings.Contains(err.Error(), "not get") {
		t.Errorf("got %v", err)
	} else {
		expectContains(t, err.Error(), "may not create pods in namespace streams", "may not watch pods", "no rule", "Helm")
	}
	failing = true
	if err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "the token has expired") {
		t.Errorf("got %v", err)
	}
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
	if _, err := kube.Open("/missing/config"); err == nil || !strings.Contains(err.Error(), "/missing/config") {
		t.Errorf("of a file that does not exist: %v", err)
	}
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	if c, err := kube.Open(""); err == nil || !strings.Contains(err.Error(), "KUBECONFIG") {
		t.Errorf("without a file: %v, %v", c, err)
	}
}
