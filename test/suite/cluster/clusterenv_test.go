//go:build cluster

package cluster_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// namespace is created by the test, and deleted at its end.
const namespace = "stream-monitor-acceptance"

// clusterEnv is the cluster, the database and the fakes: everything but the
// release itself.
type clusterEnv struct {
	api            kubernetes.Interface
	hostAddress    string         // this machine's address as pods reach it
	nodeAddress    string         // the first node's; NodePorts listen there
	podNetworks    []netip.Prefix // networks of pods and nodes
	localAddresses []netip.Prefix // of this machine, with their networks
	database       *database
	*scenario.Env
}

// newClusterEnv starts the fakes and the database, and creates the namespace. They end with the test.
func newClusterEnv(t *testing.T) *clusterEnv {
	t.Helper()
	s := &clusterEnv{}
	var err error
	s.api, err = newClient()
	must(t, err)
	must(t, s.findAddresses(t.Context()))
	fakes, err := testenv.StartFakes(testenv.Config{Address: s.hostAddress})
	t.Cleanup(func() { must(t, fakes.Close()) })
	must(t, err)
	s.Env = &scenario.Env{Env: fakes, Workers: s.workerPods}
	s.database, err = startDatabase(t.Context(), filepath.Join(fakes.Dir(), "data"), s.hostAddress, s.isKnown)
	must(t, err)
	t.Cleanup(func() { must(t, s.database.close()) })
	t.Cleanup(func() { must(t, s.deleteNamespace(context.Background())) })
	must(t, s.createNamespace(t.Context()))
	return s
}

// findAddresses learns the addresses of this machine and of the nodes.
func (s *clusterEnv) findAddresses(ctx context.Context) error {
	nodes, err := s.api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	if err := s.readNetworks(nodes.Items); err != nil {
		return err
	}
	if s.hostAddress = os.Getenv("STREAM_MONITOR_HOST"); s.hostAddress != "" {
		return nil
	}
	node, err := netip.ParseAddr(s.nodeAddress)
	if err != nil {
		return fmt.Errorf("the node's address: %w", err)
	}
	for _, p := range s.localAddresses {
		if p.Contains(node) {
			s.hostAddress = p.Addr().String()
			return nil
		}
	}
	return fmt.Errorf("this machine is not in the network of the node %s; set STREAM_MONITOR_HOST to its address as pods see it", s.nodeAddress)
}

// fakeConfigMap has the files that workers need to reach the fake YouTube. It is
// mounted at the path of the fake's own files, so that the fake's environment
// variables fit.
const fakeConfigMap = "fake-youtube"

// createNamespace creates the namespace and fakeConfigMap.
func (s *clusterEnv) createNamespace(ctx context.Context) error {
	if err := s.deleteNamespace(ctx); err != nil { // an earlier run may have been killed
		return err
	}
	if _, err := run(ctx, "kubectl", "create", "namespace", namespace); err != nil {
		return err
	}
	_, err := run(ctx, "kubectl", "-n", namespace, "create", "configmap", fakeConfigMap,
		"--from-file=ca.pem="+s.YouTube.CAFile(),
		"--from-file=certifi="+filepath.Join(s.FakeDir(), "python", "certifi", "__init__.py"))
	return err
}

// deleteNamespace blocks until the namespace is gone.
func (s *clusterEnv) deleteNamespace(ctx context.Context) error {
	_, err := run(ctx, "kubectl", "delete", "namespace", namespace, "--ignore-not-found", "--timeout=120s")
	return err
}

// workerEnv lists the variables of workers. The proxies are not among them: they
// are settings of the release, and the gateway passes them on (decision O8).
func (s *clusterEnv) workerEnv() (env []map[string]any) {
	for _, line := range s.YouTube.Env() {
		name, value, _ := strings.Cut(line, "=")
		if !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			env = append(env, map[string]any{"name": name, "value": value})
		}
	}
	return env
}

// readNetworks reads the networks of pods and of this machine. A node's address
// counts as a pod's, because some networks translate pod addresses to it.
func (s *clusterEnv) readNetworks(nodes []corev1.Node) error {
	networks := strings.Fields(os.Getenv("STREAM_MONITOR_POD_NETWORK"))
	for _, n := range nodes {
		networks = append(networks, n.Spec.PodCIDRs...)
		for _, a := range n.Status.Addresses {
			if address, err := netip.ParseAddr(a.Address); a.Type == corev1.NodeInternalIP && err == nil {
				s.nodeAddress = cmp.Or(s.nodeAddress, a.Address)
				s.podNetworks = append(s.podNetworks, netip.PrefixFrom(address, address.BitLen()))
			}
		}
	}
	for _, network := range networks {
		p, err := netip.ParsePrefix(network)
		if err != nil {
			return fmt.Errorf("parse the network of the pods: %w", err)
		}
		s.podNetworks = append(s.podNetworks, p)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			s.localAddresses = append(s.localAddresses, p)
		}
	}
	return nil
}

// isKnown reports whether an address is a pod's, a node's or this machine's.
func (s *clusterEnv) isKnown(address netip.Addr) bool {
	return slices.ContainsFunc(s.podNetworks, func(p netip.Prefix) bool { return p.Contains(address) }) || s.isLocal(address)
}

// isLocal reports whether an address is this machine's.
func (s *clusterEnv) isLocal(address netip.Addr) bool {
	return slices.ContainsFunc(s.localAddresses, func(p netip.Prefix) bool { return p.Addr() == address })
}
