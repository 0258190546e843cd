//go:build cluster

package cluster_test

import (
	"context"
	"encoding/json"
	"strings"
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

// startServer starts a pod that listens at ports 80 and 443. It returns its address.
func startServer(t *testing.T, in, name string) string {
	t.Helper()
	pod, _ := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false,
			"containers": []any{map[string]any{"name": "server", "image": firstImage, "imagePullPolicy": "IfNotPresent",
				"command":         []string{"python3", "-c", serverProgram, "80", "443"},
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
