//go:build cluster

package cluster_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// namespace is created by the test, and deleted at its end.
const namespace = "stream-monitor-acceptance"

// clusterEnv is the cluster, the database and the fakes: everything but the
// release itself.
type clusterEnv struct {
	api            *apiClient
	hostAddress    string         // this machine's address as pods reach it
	nodeAddress    string         // the first node's; NodePorts listen there
	podNetworks    []netip.Prefix // networks of pods and nodes
	localAddresses []netip.Prefix // of this machine, with their networks
	dir            string
	database       *database
	*testenv.Env
}

// newClusterEnv starts the fakes and the database, and creates the namespace.
func newClusterEnv(ctx context.Context) (s *clusterEnv, err error) {
	s = &clusterEnv{Env: &testenv.Env{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "stream-monitor-cluster-"); err != nil {
		return s, err
	}
	// The private database does not run as root, and needs access.
	if err = os.Chmod(s.dir, 0o755); err != nil {
		return s, err
	}
	if s.api, err = startAPIClient(); err != nil {
		return s, err
	}
	if err = s.findAddresses(ctx); err != nil {
		return s, err
	}
	if s.Library, err = livestream.Open(livestream.Options{}); err != nil {
		return s, err
	}
	address := net.JoinHostPort(s.hostAddress, "0")
	if s.YouTube, err = youtube.Start(youtube.Config{Addr: address, Dir: filepath.Join(s.dir, "youtube")}); err != nil {
		return s, err
	}
	if s.Receiver, err = webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey, Addr: address}); err != nil {
		return s, err
	}
	if s.database, err = startDatabase(ctx, filepath.Join(s.dir, "data"), s.hostAddress, s.isKnown); err != nil {
		return s, err
	}
	return s, s.createNamespace(ctx)
}

// findAddresses learns the addresses of this machine and of the nodes.
func (s *clusterEnv) findAddresses(ctx context.Context) error {
	nodes, err := s.api.list(ctx, "/api/v1/nodes")
	if err != nil || len(nodes) == 0 {
		return fmt.Errorf("list the nodes: got %d, %w", len(nodes), err)
	}
	if err := s.readNetworks(nodes); err != nil {
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
		"--from-file=certifi="+filepath.Join(s.dir, "youtube", "python", "certifi", "__init__.py"))
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

func (s *clusterEnv) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var errs []error
	if s.api != nil {
		errs = append(errs, s.deleteNamespace(ctx))
		s.api.close()
	}
	if s.database != nil {
		errs = append(errs, s.database.close())
	}
	if s.Receiver != nil {
		errs = append(errs, s.Receiver.Close())
	}
	if s.YouTube != nil {
		errs = append(errs, s.YouTube.Close())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

// readNetworks reads the networks of pods and of this machine. A node's address
// counts as a pod's, because some networks translate pod addresses to it.
func (s *clusterEnv) readNetworks(nodes []object) error {
	networks := strings.Fields(os.Getenv("STREAM_MONITOR_POD_NETWORK"))
	for _, n := range nodes {
		networks = append(networks, n.Spec.PodCIDRs...)
		for _, a := range n.Status.Addresses {
			if address, err := netip.ParseAddr(a.Address); a.Type == "InternalIP" && err == nil {
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
