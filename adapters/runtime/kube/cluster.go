package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Requests to the API server that this gateway makes itself wait for at most:
// so many a second, so many at once. A look at 50 workers takes one.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 100
)

// namespaceFile is where a pod finds the namespace it runs in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Cluster is a Kubernetes, seen as one namespace of it.
type Cluster struct {
	client    kubernetes.Interface
	namespace string
}

// Open finds out how to reach a cluster: by a kubeconfig file; without one as the
// service account of the pod this runs in; outside of a cluster by KUBECONFIG or
// ~/.kube/config. The namespace is that of the pod or of the kubeconfig. It asks
// nobody. Errors: none of these is there, or it makes no sense.
func Open(kubeconfig string) (*Cluster, error) {
	config, namespace, err := load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	config.UserAgent = "stream-monitor"
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	config.WarningHandlerWithContext = rest.NoWarnings{}
	if config.Proxy == nil { // HTTPS_PROXY is for media (decision O8)
		config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kube: the way to the API server: %w", err)
	}
	return Of(client, namespace), nil
}

// Of is the cluster that a client reaches, in a namespace.
func Of(client kubernetes.Interface, namespace string) *Cluster {
	return &Cluster{client: client, namespace: namespace}
}

// In is the same cluster in another namespace; with "" it is the same.
func (c *Cluster) In(namespace string) *Cluster {
	if namespace == "" {
		return c
	}
	return Of(c.client, namespace)
}

// Namespace is where its pods are looked for.
func (c *Cluster) Namespace() string { return c.namespace }

func load(kubeconfig string) (config *rest.Config, namespace string, err error) {
	if kubeconfig == "" {
		config, err = rest.InClusterConfig()
		if err == nil {
			b, err := os.ReadFile(namespaceFile)
			if err != nil {
				return nil, "", fmt.Errorf("which namespace this pod is in: %w", err)
			}
			return config, strings.TrimSpace(string(b)), nil
		}
		if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, "", fmt.Errorf("the service account of this pod: %w", err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	from := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	if config, err = from.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("how to reach the cluster (this is no pod; KUBECONFIG says): %w", err)
	}
	if namespace, _, err = from.Namespace(); err != nil {
		return nil, "", fmt.Errorf("the namespace of the kubeconfig: %w", err)
	}
	return config, namespace, nil
}
