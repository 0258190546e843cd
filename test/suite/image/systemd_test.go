//go:build image

package image_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/docker"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// A worker ends with a killed gateway. The next gateway launches another one, which can create temporary files.
func TestTheSystemdUnitStartsAnotherGatewayWhenOneDies(t *testing.T) {
	h := bootHost(t)
	if output := h.exec(t, "systemd-analyze", "verify", "--man=no", unit); output != "" {
		t.Errorf("systemd-analyze prints %s", output)
	}
	h.waitUntilReady(t)
	s := h.Watch(t, scenario.Video{})
	for property, want := range map[string]string{"ActiveState": "active", "WatchdogUSec": "1min"} {
		if got := h.exec(t, "systemctl", "show", "--property", property, "--value", unit); got != want {
			t.Errorf("of a ready gateway, systemd says %s=%s, want %s", property, got, want)
		}
	}
	gateway, worker := h.gatewayPID(t), h.workerPID(t)
	h.exec(t, "kill", "-9", gateway)
	h.Eventually(t, time.Minute, "another gateway", func() bool { now := h.gatewayPID(t); return now != "0" && now != gateway })
	h.waitUntilReady(t)
	s.WaitChecks(2, time.Minute)
	old := worker
	if worker = h.workerPID(t); worker == old {
		t.Errorf("the worker is process %s still", worker)
	}
	file := h.exec(t, "bash", "-c", "export $(tr '\\0' '\\n' </proc/"+worker+"/environ | grep ^TMPDIR=) && "+
		"nsenter --target "+worker+" --mount setpriv --reuid stream-monitor --regid stream-monitor --clear-groups mktemp")
	t.Logf("a temporary file: %s", file)
	h.exec(t, "systemctl", "stop", unit)
	if left := h.exec(t, "bash", "-c", "pgrep -u stream-monitor -a || true"); left != "" {
		t.Errorf("processes are left after the stop: %s", left)
	}
}

const unit = "stream-monitor.service"

// host is a container with systemd, and the fakes that the service uses.
type host struct {
	name string
	*scenario.Env
}

// bootHost starts a host with the service.
func bootHost(t *testing.T) *host {
	t.Helper()
	network, address := docker.NewNetwork(t)
	docker.Run(t, "buildx", "build", "--load", "--tag", network, "--build-arg", "IMAGE="+image,
		"--file", filepath.Join("systemd", "Dockerfile"), filepath.Join("..", "..", "..", "deploy", "systemd"))
	t.Cleanup(func() { docker.Run(t, "rmi", network) })

	fakes, err := testenv.StartFakes(testenv.Config{Address: address})
	t.Cleanup(func() { _ = fakes.Close() })
	if err != nil {
		t.Fatal(err)
	}
	h, dir := &host{name: network, Env: &scenario.Env{Env: fakes}}, t.TempDir()
	settings := append(h.YouTube.Env(), "LISTEN_ADDR=0.0.0.0:8080", "CALLBACK_ALLOWED_NETWORKS="+address+"/32",
		"INTERNAL_API_KEY="+system.InternalKey, "WEBHOOK_SIGNING_KEY="+system.SigningKey)
	environment := filepath.Join(dir, "environment")
	if err := os.WriteFile(environment, []byte(strings.Join(settings, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	credential := filepath.Join(dir, "credential")
	if err := os.WriteFile(credential, []byte(system.APIKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			said, err := docker.Try("exec", h.name, "bash", "-c", "systemctl status --no-pager --full "+unit+"; journalctl --no-pager --lines 60; true")
			t.Logf("%s\n%v", said, err)
		}
		_, _ = docker.Try("rm", "-f", "-v", h.name)
	})
	docker.Run(t, "run", "--detach", "--name", h.name, "--network", network,
		"--cgroupns", "private", "--cap-add", "SYS_ADMIN", "--cap-add", "SYS_PTRACE",
		"--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined",
		"--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp", "--volume", h.FakeDir()+":"+h.FakeDir()+":ro",
		"--volume", environment+":/etc/stream-monitor/environment:ro", "--volume", credential+":/etc/credstore/stream-monitor.API_KEY:ro", network)
	ip := docker.Run(t, "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", h.name)
	h.Service = system.Remote("http://"+ip+":8080", &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}})
	return h
}

// exec runs a command on the host and returns its output.
func (h *host) exec(t *testing.T, args ...string) string {
	t.Helper()
	return docker.Run(t, append([]string{"exec", h.name}, args...)...)
}

func (h *host) waitUntilReady(t *testing.T) {
	t.Helper()
	h.Eventually(t, time.Minute, "a ready gateway", func() bool {
		a, err := h.Service.Call(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && a.Status == http.StatusOK
	})
}

// gatewayPID is the service's main process; "0": it has none.
func (h *host) gatewayPID(t *testing.T) string {
	t.Helper()
	return h.exec(t, "systemctl", "show", "--property", "MainPID", "--value", unit)
}

// workerPID is the process of the only worker.
func (h *host) workerPID(t *testing.T) string {
	t.Helper()
	pids := strings.Fields(h.exec(t, "pgrep", "-f", "^/usr/local/bin/stream-monitor worker"))
	if len(pids) != 1 {
		t.Fatalf("there are %d workers", len(pids))
	}
	return pids[0]
}
