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
)

func TestCheck(t *testing.T) {
	s := simulate(t)
	var asked []string
	var refused, failing bool
	s.client.PrependReactor("create", "selfsubjectaccessreviews", func(a ktesting.Action) (bool, runtime.Object, error) {
		if failing {
			return true, nil, apierrors.NewUnauthorized("who are you?")
		}
		r := a.(ktesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		of := r.Spec.ResourceAttributes
		asked = append(asked, of.Verb+" "+of.Resource+" in "+of.Namespace)
		r.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: !refused || of.Verb == "get", Reason: "no rule"}
		return true, r, nil
	})
	c := kube.Of(s.client, namespace)
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if want := []string{"create pods in streams", "delete pods in streams", "get pods in streams", "list pods in streams", "watch pods in streams"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v", asked)
	}
	refused = true
	if err := c.Check(t.Context()); err == nil || strings.Contains(err.Error(), "not get") {
		t.Errorf("got %v", err)
	} else {
		expectContains(t, err.Error(), "may not create pods in namespace streams", "may not watch pods", "no rule", "Helm")
	}
	failing = true
	if err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "who are you?") {
		t.Errorf("got %v", err)
	}
}

func TestOpen(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(`
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://api.example:6443"}}]
contexts: [{name: x, context: {cluster: c, user: u, namespace: streams}}]
users: [{name: u, user: {token: t}}]
current-context: x
`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("a kubeconfig says which namespace", func(t *testing.T) {
		c, err := kube.Open(file)
		if err != nil || c.Namespace() != "streams" || c.In("other").Namespace() != "other" || c.In("").Namespace() != "streams" {
			t.Errorf("got %v, %v", c, err)
		}
	})
	t.Run("so does KUBECONFIG", func(t *testing.T) {
		t.Setenv("KUBECONFIG", file)
		if c, err := kube.Open(""); err != nil || c.Namespace() != "streams" {
			t.Errorf("got %v, %v", c, err)
		}
	})
	t.Run("one that is not there is said", func(t *testing.T) {
		if _, err := kube.Open("/nowhere/config"); err == nil || !strings.Contains(err.Error(), "/nowhere/config") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("without any, it is said what is missing", func(t *testing.T) {
		t.Setenv("KUBECONFIG", "")
		t.Setenv("HOME", t.TempDir())
		if c, err := kube.Open(""); err == nil || !strings.Contains(err.Error(), "KUBECONFIG") {
			t.Errorf("got %v, %v", c, err)
		}
	})
}
