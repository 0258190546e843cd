//go:build cluster

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// namespace is the test's own; it is made, and deleted in the end.
const namespace = "stream-monitor-acceptance"

// site is the cluster and what is around the release: everything but the
// release itself.
type site struct {
	kube     *kubernetes
	host     string         // this machine, as pods see it
	node     string         // the first node's address, where NodePorts are
	pods     []netip.Prefix // where pods and nodes are
	ours     []netip.Prefix // this machine's addresses, with their networks
	dir      string
	database *database
	*testenv.Env
}

// prepare makes the site ready for the release.
func prepare(ctx context.Context) (s *site, err error) {
	s = &site{Env: &testenv.Env{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "stream-monitor-cluster-"); err != nil {
		return s, err
	}
	// The private database runs as another user than root, and must get in.
	if err = os.Chmod(s.dir, 0o755); err != nil {
		return s, err
	}
	if s.kube, err = open(); err != nil {
		return s, err
	}
	if err = s.locate(ctx); err != nil {
		return s, err
	}
	if s.Library, err = livestream.Open(livestream.Options{}); err != nil {
		return s, err
	}
	at := net.JoinHostPort(s.host, "0")
	if s.YouTube, err = youtube.Start(youtube.Config{Addr: at, Dir: filepath.Join(s.dir, "youtube")}); err != nil {
		return s, err
	}
	if s.Receiver, err = webhookreceiver.Start(webhookreceiver.Config{Key: system.SigningKey, Addr: at}); err != nil {
		return s, err
	}
	if s.database, err = startDatabase(ctx, filepath.Join(s.dir, "data"), s.host, s.knows); err != nil {
		return s, err
	}
	return s, s.furnish(ctx)
}

// locate finds out where this machine and the nodes are for each other.
func (s *site) locate(ctx context.Context) error {
	nodes, err := s.kube.list(ctx, "/api/v1/nodes")
	if err != nil || len(nodes) == 0 {
		return fmt.Errorf("the cluster's nodes: %d, %w", len(nodes), err)
	}
	if err := s.networks(nodes); err != nil {
		return err
	}
	if s.host = os.Getenv("STREAM_MONITOR_HOST"); s.host != "" {
		return nil
	}
	node, err := netip.ParseAddr(s.node)
	if err != nil {
		return fmt.Errorf("the node's address: %w", err)
	}
	for _, p := range s.ours {
		if p.Contains(node) {
			s.host = p.Addr().String()
			return nil
		}
	}
	return fmt.Errorf("this machine is not in the network of the node %s; set STREAM_MONITOR_HOST to its address as pods see it", s.node)
}

// authority is the ConfigMap with what leads workers to the stand-in. It is
// mounted where the stand-in has its own, so that its environment is right.
const authority = "youtube-stand-in"

// furnish makes the namespace.
func (s *site) furnish(ctx context.Context) error {
	if err := s.clear(ctx); err != nil { // of a run that was killed
		return err
	}
	if _, err := run(ctx, "kubectl", "create", "namespace", namespace); err != nil {
		return err
	}
	_, err := run(ctx, "kubectl", "-n", namespace, "create", "configmap", authority,
		"--from-file=ca.pem="+s.YouTube.CAFile(),
		"--from-file=certifi="+filepath.Join(s.dir, "youtube", "python", "certifi", "__init__.py"))
	return err
}

// clear deletes the namespace, and waits for it.
func (s *site) clear(ctx context.Context) error {
	_, err := run(ctx, "kubectl", "delete", "namespace", namespace, "--ignore-not-found", "--timeout=120s")
	return err
}

// environment is that of workers. The proxies are not in it: those are settings
// of the release, and reach workers by way of the gateway (decision O8).
func (s *site) environment() (env []map[string]any) {
	for _, line := range s.YouTube.Env() {
		name, value, _ := strings.Cut(line, "=")
		if !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			env = append(env, map[string]any{"name": name, "value": value})
		}
	}
	return env
}

func (s *site) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var errs []error
	if s.kube != nil {
		errs = append(errs, s.clear(ctx))
		s.kube.close()
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
