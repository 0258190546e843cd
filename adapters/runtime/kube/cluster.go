package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The client's own rate limit. Listing 50 workers takes one request.
const (
	requestsPerSecond = 50
	requestBurst      = 100
)

// namespaceFile holds the namespace in which a pod runs.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Cluster is a Kubernetes cluster, restricted to one namespace.
type Cluster struct {
	client    kubernetes.Interface
	namespace string
}

// Open configures access to a cluster. It makes no request. It uses the given kubeconfig
// file, or the service account of this process's pod, or KUBECONFIG, or ~/.kube/config.
// The namespace is that of the pod or of the kubeconfig. Errors: none of these exists, or
// the one that is used is not valid.
func Open(kubeconfig string) (*Cluster, error) {
	config, namespace, err := load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	config.UserAgent = "stream-monitor"
	config.QPS, config.Burst = requestsPerSecond, requestBurst
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.WarningHandlerWithContext = rest.NoWarnings{}
	if config.Proxy == nil { // HTTPS_PROXY is for media (decision O8)
		config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kube: create the client of the API server: %w", err)
	}
	return NewCluster(client, namespace), nil
}

// NewCluster wraps a client and a namespace.
func NewCluster(client kubernetes.Interface, namespace string) *Cluster {
	return &Cluster{client: client, namespace: namespace}
}

// WithNamespace returns the same cluster with another namespace. An empty namespace keeps
// the present one.
func (c *Cluster) WithNamespace(namespace string) *Cluster {
	if namespace == "" {
		return c
	}
	return NewCluster(c.client, namespace)
}

// Namespace returns the namespace of the worker pods.
func (c *Cluster) Namespace() string { return c.namespace }

func load(kubeconfig string) (config *rest.Config, namespace string, err error) {
	if kubeconfig == "" {
		config, err = rest.InClusterConfig()
		if err == nil {
			b, err := os.ReadFile(namespaceFile)
			if err != nil {
				return nil, "", fmt.Errorf("read the namespace of this pod: %w", err)
			}
			return config, strings.TrimSpace(string(b)), nil
		}
		if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, "", fmt.Errorf("read the service account of this pod: %w", err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	if config, err = loader.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig (this process is not in a pod; set KUBECONFIG to a kubeconfig file): %w", err)
	}
	if namespace, _, err = loader.Namespace(); err != nil {
		return nil, "", fmt.Errorf("read the namespace of the kubeconfig: %w", err)
	}
	return config, namespace, nil
}

// Check verifies that the API server answers and that this gateway has the
// rights of a Launcher (section 14.3). It blocks for five requests. The error
// names every missing right, and how to grant it.
func (c *Cluster) Check(ctx context.Context) error {
	var missing error
	for _, verb := range []string{"create", "delete", "get", "list", "watch"} {
		allowed, reason, err := c.mayUsePods(ctx, verb)
		switch {
		case err != nil:
			return fmt.Errorf("ask the API server of the cluster for this gateway's rights: %w", err)
		case !allowed:
			missing = errors.Join(missing, fmt.Errorf("this gateway may not %s pods in namespace %s: bind its service account to the Role of the Helm chart%s",
				verb, c.namespace, reason))
		}
	}
	return missing
}

func (c *Cluster) mayUsePods(ctx context.Context, verb string) (allowed bool, reason string, err error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: c.namespace, Verb: verb, Resource: "pods"},
	}}
	err = retry(ctx, requestTimeout, func(ctx context.Context) error {
		answer, err := c.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		allowed = answer.Status.Allowed
		if answer.Status.Reason != "" {
			reason = " (" + answer.Status.Reason + ")"
		}
		return nil
	})
	return allowed, reason, err
}
