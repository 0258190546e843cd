//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

const (
	strangers      = namespace + "-strangers" // namespace of a pod that has nothing to do with the release
	policyDeadline = 30 * time.Second         // until a changed policy is in force
	listenPort     = "9999"                   // of a server in the worker's pod
)

// enforcement is "enforced" where the network of the cluster must enforce
// NetworkPolicies, as that of kube/ does.
var enforcement = os.Getenv("STREAM_MONITOR_NETWORK_POLICIES")

// networkPolicies connects to and from the pods of a watched stream: with the chart's
// policies, without them, and with them again.
func networkPolicies(t *testing.T, s *clusterEnv) {
	c := newConnections(t, s)
	requireEnforcement(t, c.pods["neighbour"], c.destinations["gateway"]["stranger:80"])
	p := s.Watch(t, scenario.Video{})
	c.serveInWorker(t, s.workerPod(t, p.ID))

	c.expect(t, "with policies", func(from, to string) bool { return slices.Contains(allowed[from], to) })
	must(t, s.upgrade(t.Context(), "networkPolicy.enabled=false"))
	c.expect(t, "without policies", func(string, string) bool { return true })
	must(t, s.upgrade(t.Context()))
	c.expect(t, "with policies again", func(from, to string) bool { return slices.Contains(allowed[from], to) })

	p.EndAndAssert()
}

// allowed lists what each pod reaches with the chart's policies (section 14.3). The rest of
// its destinations is denied. Which addresses outside the cluster they allow, and whom they select
// in other namespaces, is read from the rendered policies (chart_network_test.go).
var allowed = map[string][]string{
	"worker":    {"names", "internal API", "internal API, pod", "proxy"},
	"gateway":   {"names", "database", "API server", "API server, node"},
	"neighbour": {"names", "public API"},
	"stranger":  {"names", "public API"},
}

// connections are the pods from which the test connects, and the addresses to which.
type connections struct {
	pods         map[string]podContainer      // by the names of allowed
	destinations map[string]map[string]string // addresses by their names, for each pod
}

type podContainer struct{ namespace, pod, container string }

// newConnections starts a pod beside the release and one in another namespace.
func newConnections(t *testing.T, s *clusterEnv) *connections {
	t.Helper()
	startNamespace(t, strangers)
	pods, err := s.gatewayPods(t.Context())
	must(t, err)
	neighbour, stranger := startServer(t, namespace, "neighbour"), startServer(t, strangers, "stranger")
	service := func(in, name string) *corev1.Service {
		found, err := s.api.CoreV1().Services(in).Get(t.Context(), name, metav1.GetOptions{})
		must(t, err)
		return found
	}
	public, internal, apiServer := service(namespace, release), service(namespace, release+"-internal"), service("default", "kubernetes")

	toInternal := map[string]string{"internal API": internal.Spec.ClusterIP + ":8081", "internal API, pod": pods[0].Status.PodIP + ":8081"}
	elsewhere := map[string]string{
		"names":      names,
		"database":   s.database.port.Addr().String(),
		"API server": apiServer.Spec.ClusterIP + ":443", "API server, node": net.JoinHostPort(s.nodeAddress, apiServerPort(t, s)),
		"neighbour:80": neighbour + ":80", "stranger:80": stranger + ":80",
	}
	c := &connections{
		pods: map[string]podContainer{
			"gateway":   {namespace, pods[0].Name, "gateway"},
			"neighbour": {namespace, "neighbour", "server"},
			"stranger":  {strangers, "stranger", "server"},
		},
		destinations: map[string]map[string]string{"gateway": elsewhere},
	}
	for _, from := range []string{"neighbour", "stranger"} {
		c.destinations[from] = maps.Clone(toInternal)
		c.destinations[from]["names"] = names
		c.destinations[from]["public API"] = fmt.Sprintf("%s:%d", public.Spec.ClusterIP, public.Spec.Ports[0].Port)
	}
	c.destinations["worker"] = maps.Clone(elsewhere)
	maps.Copy(c.destinations["worker"], toInternal)
	maps.Copy(c.destinations["worker"], map[string]string{
		"proxy":      strings.TrimPrefix(s.YouTube.Proxy(), "http://"),
		"public API": c.destinations["stranger"]["public API"], "public API, pod": pods[0].Status.PodIP + ":8080",
		"kubelet": net.JoinHostPort(s.nodeAddress, "10250"), "stranger:443": stranger + ":443",
	})
	return c
}

// serveInWorker adds the worker's pod, and a server in it that others try to reach.
func (c *connections) serveInWorker(t *testing.T, worker corev1.Pod) {
	t.Helper()
	c.pods["worker"] = podContainer{namespace, worker.Name, "monitor"}
	ctx, cancel := context.WithCancel(t.Context())
	server := command(ctx, "kubectl", "-n", namespace, "exec", worker.Name, "-c", "monitor", "--", "python3", "-c", serverProgram, listenPort)
	must(t, server.Start())
	t.Cleanup(func() { cancel(); _ = server.Wait() })
	for _, from := range []string{"gateway", "neighbour", "stranger"} {
		c.destinations[from]["worker:"+listenPort] = worker.Status.PodIP + ":" + listenPort
	}
	must(t, waitFor(t.Context(), 30*time.Second, "a server in the worker's pod", func() bool {
		return c.pods["worker"].connect(t, []string{"127.0.0.1:" + listenPort})["127.0.0.1:"+listenPort] == ""
	}))
}

// requireEnforcement denies connections to the strangers, and so finds out whether the network
// enforces policies. It skips the test if not; where it must, the test fails.
func requireEnforcement(t *testing.T, from podContainer, to string) {
	t.Helper()
	connects := func() bool { return from.connect(t, []string{to})[to] == "" }
	must(t, waitFor(t.Context(), policyDeadline, "a connection between two pods without policies", connects))
	kubectl(t, `{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny"}, "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}`,
		"-n", strangers, "apply", "-f", "-")
	err := waitFor(t.Context(), policyDeadline, "a denied connection", func() bool { return !connects() })
	kubectl(t, "", "-n", strangers, "delete", "networkpolicy", "deny")
	switch {
	case err == nil:
		logProgress("the network enforces NetworkPolicies")
	case enforcement == "enforced":
		t.Fatal("the network does not enforce NetworkPolicies")
	default:
		t.Skip("the network of this cluster does not enforce NetworkPolicies, so they cannot be seen at work here; kube/up.sh starts a cluster that enforces them")
	}
}

// expect connects from every pod to all its destinations until exactly those that want
// wants are reached.
func (c *connections) expect(t *testing.T, when string, want func(from, to string) bool) {
	t.Helper()
	start := time.Now()
	var wrong []string
	err := waitFor(t.Context(), policyDeadline, "the connections", func() bool {
		wrong = nil
		for from, destinations := range c.destinations {
			outcome := c.pods[from].connect(t, slices.Collect(maps.Values(destinations)))
			for to, address := range destinations {
				if (outcome[address] == "") != want(from, to) {
					wrong = append(wrong, fmt.Sprintf("%s to %s (%s): %q", from, to, address, outcome[address]))
				}
			}
		}
		return len(wrong) == 0
	})
	if err != nil {
		slices.Sort(wrong)
		t.Fatalf("%s, these connections are wrong; an empty error is a connection:\n%s", when, strings.Join(wrong, "\n"))
	}
	logProgress("%s: all connections as they must be after %.1f s", when, time.Since(start).Seconds())
}
