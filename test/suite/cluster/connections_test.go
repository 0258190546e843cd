//go:build cluster

package cluster_test

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// serverProgram accepts connections at the ports that are its arguments.
const serverProgram = `
import select, socket, sys
servers = [socket.create_server(("", int(port))) for port in sys.argv[1:]]
while True:
    for server in select.select(servers, [], [])[0]:
        server.accept()[0].close()
`

// names is the address of the name servers: clientProgram resolves a name.
const names = "names"

// clientProgram connects to the addresses that are its arguments. It prints a JSON object of
// errors; an empty one is success.
const clientProgram = `
import concurrent.futures, json, socket, sys
def attempt(address):
    try:
        if address == "` + names + `":
            socket.getaddrinfo("kubernetes.default.svc", 443)
        else:
            host, port = address.rsplit(":", 1)
            socket.create_connection((host, int(port)), 3).close()
    except OSError as error:
        return str(error) or repr(error)
    return ""
with concurrent.futures.ThreadPoolExecutor(len(sys.argv)) as pool:
    print(json.dumps(dict(zip(sys.argv[1:], pool.map(attempt, sys.argv[1:])))))
`

// connect connects from a pod to addresses. It returns the errors by address.
func (p podContainer) connect(t *testing.T, addresses []string) (outcome map[string]string) {
	t.Helper()
	args := append([]string{"-n", p.namespace, "exec", p.pod, "-c", p.container, "--", "python3", "-c", clientProgram}, addresses...)
	must(t, json.Unmarshal([]byte(kubectl(t, "", args...)), &outcome))
	return outcome
}

// kubectl runs kubectl, with this standard input, and fails the test if it fails.
func kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := runWithInput(t.Context(), input, "kubectl", args...)
	must(t, err)
	return out
}

// startNamespace creates a namespace for the time of the test.
func startNamespace(t *testing.T, name string) {
	t.Helper()
	remove := []string{"delete", "namespace", name, "--ignore-not-found", "--timeout=120s"}
	kubectl(t, "", remove...) // an earlier run may have been killed
	kubectl(t, "", "create", "namespace", name)
	t.Cleanup(func() { _, _ = run(context.Background(), "kubectl", remove...) })
}

// startServer starts a pod that listens at ports 80 and 443 and at those of a gateway. It
// returns its address.
func startServer(t *testing.T, in, name string, labels any) string {
	t.Helper()
	pod, _ := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "labels": labels},
		"spec": map[string]any{
			"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false,
			"containers": []any{map[string]any{"name": "server", "image": firstImage, "imagePullPolicy": "IfNotPresent",
				"command":         []string{"python3", "-c", serverProgram, "80", "443", "8080", "8081"},
				"ports":           []any{map[string]any{"name": "public", "containerPort": 8080}, map[string]any{"name": "internal", "containerPort": 8081}},
				"securityContext": map[string]any{"runAsUser": 0}}}, // for the ports
		},
	})
	kubectl(t, string(pod), "-n", in, "apply", "-f", "-")
	t.Cleanup(func() {
		_, _ = run(context.Background(), "kubectl", "-n", in, "delete", "pod", name, "--ignore-not-found")
	})
	kubectl(t, "", "-n", in, "wait", "--for=condition=Ready", "pod/"+name, "--timeout=60s")
	return strings.TrimSpace(kubectl(t, "", "-n", in, "get", "pod", name, "-o", "jsonpath={.status.podIP}"))
}

// apiServerPort returns the API server's own port, to which its Service leads.
func apiServerPort(t *testing.T, s *clusterEnv) string {
	t.Helper()
	return strings.TrimSpace(kubectl(t, "", "-n", "default", "get", "endpointslice", "kubernetes", "-o", "jsonpath={.ports[0].port}"))
}

// The addresses at which pods, and only pods, find servers of the test.
var outside = map[string]string{
	"public":   "203.0.113.213", // of a network for documentation, which the chart takes for public
	"private":  "10.213.213.213",
	"metadata": "169.254.169.254",
}

const (
	outsideTable  = "21321" // routing table of the pods
	ipTransparent = 19      // IP_TRANSPARENT of ip(7)
)

// serveOutside listens at the addresses of outside, at ports 80 and 443. It returns them by
// their names. It routes what pods send there to this machine, and needs root and that this
// machine is the node; elsewhere it does nothing.
func (s *clusterEnv) serveOutside(t *testing.T) map[string]string {
	t.Helper()
	addresses := map[string]string{}
	node, err := netip.ParseAddr(s.nodeAddress)
	if err != nil || !s.isLocal(node) || os.Geteuid() != 0 {
		logProgress("no public, private and metadata addresses are tried: this machine is not the node, or not root's")
		return addresses
	}
	ip := func(args ...string) error { return exec.Command("ip", args...).Run() }
	for _, network := range s.podNetworks {
		if network.IsSingleIP() { // a node
			continue
		}
		rule := []string{"from", network.String(), "lookup", outsideTable}
		_ = ip(append([]string{"rule", "del"}, rule...)...) // of an earlier run that was killed
		must(t, ip(append([]string{"rule", "add"}, rule...)...))
		t.Cleanup(func() { _ = ip(append([]string{"rule", "del"}, rule...)...) })
	}
	t.Cleanup(func() { _ = ip("route", "flush", "table", outsideTable) })
	// The addresses are not this machine's, so a socket must ask for them.
	transparent := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if failed := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, ipTransparent, 1) }); failed != nil {
			return failed
		}
		return err
	}}
	for name, host := range outside {
		must(t, ip("route", "replace", "local", host, "dev", "lo", "table", outsideTable))
		for _, port := range []string{"80", "443"} {
			l, err := transparent.Listen(t.Context(), "tcp", net.JoinHostPort(host, port))
			must(t, err)
			t.Cleanup(func() { _ = l.Close() })
			addresses[name+":"+port] = l.Addr().String()
		}
	}
	return addresses
}
