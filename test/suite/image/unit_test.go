//go:build image

package image_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// TestTheUnitKeepsWorkersWhenTheGatewayDies installs deploy/systemd on a host
// with a systemd of its own, and kills the gateway that watches a stream: the
// next one adopts the worker, which still has where to put a temporary file.
func TestTheUnitKeepsWorkersWhenTheGatewayDies(t *testing.T) {
	h := boot(t)
	if said := h.exec(t, "systemd-analyze", "verify", "--man=no", unit); said != "" {
		t.Errorf("systemd-analyze says %s", said)
	}
	const video = "imageUnit01"
	_, err := h.StartStream(t.Context(), video, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h.ready(t)
	id, err := h.Service.Register(t.Context(), h.YouTube.URL(video), h.Receiver.URL(), map[string]any{"check_interval_sec": 2})
	if err != nil {
		t.Fatal(err)
	}
	h.checked(t, id, 2)
	gateway, worker := h.gateway(t), h.worker(t)
	h.exec(t, "kill", "-9", gateway)
	h.until(t, "another gateway", func() bool { now := h.gateway(t); return now != "0" && now != gateway })
	h.ready(t)
	h.checked(t, id, 2)
	if now := h.worker(t); now != worker {
		t.Errorf("the worker was process %s and is %s", worker, now)
	}
	made := h.exec(t, "bash", "-c", "export $(tr '\\0' '\\n' </proc/"+worker+"/environ | grep ^TMPDIR=) && "+
		"nsenter --target "+worker+" --mount setpriv --reuid stream-monitor --regid stream-monitor --clear-groups mktemp")
	t.Logf("a temporary file: %s", made)
	h.exec(t, "systemctl", "stop", unit)
	if left := h.exec(t, "bash", "-c", "pgrep -u stream-monitor -a || true"); left != "" {
		t.Errorf("after its stop there are %s", left)
	}
}

const unit = "stream-monitor.service"

// host is a container with systemd, and stand-ins around it.
type host struct {
	name string
	*testenv.Env
}

// boot starts a host, with the service.
func boot(t *testing.T) *host {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { // the service's user is another one
		t.Fatal(err)
	}
	network, address := network(t)
	docker(t, "buildx", "build", "--load", "--tag", network, "--build-arg", "IMAGE="+image,
		"--file", filepath.Join("systemd", "Dockerfile"), filepath.Join("..", "..", "..", "deploy", "systemd"))
	t.Cleanup(func() { docker(t, "rmi", network) })

	h := &host{name: network, Env: &testenv.Env{}}
	var err error
	if h.Library, err = livestream.Open(livestream.Options{}); err != nil {
		t.Fatal(err)
	}
	if h.YouTube, err = youtube.Start(youtube.Config{Addr: address + ":0", Dir: dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.YouTube.Close() })
	if h.Receiver, err = webhookreceiver.Start(webhookreceiver.Config{Addr: address + ":0", Key: system.SigningKey}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Receiver.Close() })
	settings := append(h.YouTube.Env(), "LISTEN_ADDR=0.0.0.0:8080", "CALLBACK_ALLOWED_NETWORKS="+address+"/32",
		"API_KEY="+system.APIKey, "INTERNAL_API_KEY="+system.InternalKey, "WEBHOOK_SIGNING_KEY="+system.SigningKey)
	environment := filepath.Join(dir, "environment")
	if err := os.WriteFile(environment, []byte(strings.Join(settings, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = try(t, "rm", "-f", "-v", h.name) })
	docker(t, "run", "--detach", "--name", h.name, "--network", network,
		"--cgroupns", "private", "--cap-add", "SYS_ADMIN", "--cap-add", "SYS_PTRACE",
		"--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined",
		"--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp", "--volume", dir+":"+dir+":ro",
		"--volume", environment+":/etc/stream-monitor/environment:ro", network)
	at := docker(t, "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", h.name)
	h.Service = system.Remote("http://"+at+":8080", &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}})
	return h
}

// exec runs a command on the host and gives what it printed.
func (h *host) exec(t *testing.T, args ...string) string {
	t.Helper()
	return docker(t, append([]string{"exec", h.name}, args...)...)
}

// until waits until something holds, and else shows the service's log.
func (h *host) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	eventually(t, time.Minute, what, func() string {
		return h.exec(t, "bash", "-c", "systemctl status --no-pager --full "+unit+"; journalctl --no-pager --lines 60; true")
	}, holds)
}

func (h *host) ready(t *testing.T) {
	t.Helper()
	h.until(t, "the gateway is ready", func() bool {
		a, err := h.Service.Call(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && a.Status == http.StatusOK
	})
}

// checked waits until so many more segments of a monitor have been looked at.
func (h *host) checked(t *testing.T, id string, more float64) {
	t.Helper()
	total := func() float64 {
		m, _ := h.Service.Monitor(t.Context(), id)
		statistics, _ := m["statistics"].(map[string]any)
		n, _ := statistics["total_segments_analyzed"].(float64)
		return n
	}
	before := total()
	h.until(t, fmt.Sprintf("%v checks after %v", more, before), func() bool { return total() >= before+more })
}

// gateway is the number of the service's main process; "0": it has none.
func (h *host) gateway(t *testing.T) string {
	t.Helper()
	return h.exec(t, "systemctl", "show", "--property", "MainPID", "--value", unit)
}

// worker is the number of the only worker's process.
func (h *host) worker(t *testing.T) string {
	t.Helper()
	numbers := strings.Fields(h.exec(t, "pgrep", "-f", "^/usr/local/bin/stream-monitor worker"))
	if len(numbers) != 1 {
		t.Fatalf("there are %d workers", len(numbers))
	}
	return numbers[0]
}
