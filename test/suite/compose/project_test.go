//go:build compose

package compose_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/docker"
	"github.com/stream-monitor/stream-monitor/test/harness/loopback"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// project is a copy of deploy/compose.yaml with an .env by compose-env.sh and a
// unique project name, and the fakes that it uses.
type project struct {
	*scenario.Env
	name, dir string
	env       []string // overrides .env
	newImage  string   // that it was upgraded to
}

// newProject copies the files, makes the .env, and starts the fakes at an address that
// containers reach. The project's environment points to them.
func newProject(t *testing.T, image string) *project {
	t.Helper()
	address, err := loopback.FreeAddress()
	must(t, err)
	p := &project{name: fmt.Sprintf("stream-monitor-compose-%d", os.Getpid()), dir: t.TempDir(), env: []string{"LISTEN=" + address}}
	for _, name := range []string{"compose.yaml", "compose-env.sh", "compose.env.example"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(p.dir, name), b, 0o755))
	}
	docker.Exec(t, exec.Command(filepath.Join(p.dir, "compose-env.sh"), image))
	secrets := p.readSettings(t)

	network, host := docker.NewNetwork(t)
	fakes, err := testenv.StartFakes(testenv.Config{Address: host, SigningKey: secrets["WEBHOOK_SIGNING_KEY"]})
	t.Cleanup(func() { _ = fakes.Close() })
	must(t, err)
	fakes.Service = system.Remote("http://"+address, &http.Client{Timeout: 10 * time.Second, Transport: apiKeyTransport{secrets["API_KEY"]}})
	p.Env = &scenario.Env{Env: fakes, Workers: p.workers}
	environment := map[string]string{"CALLBACK_ALLOWED_NETWORKS": host + "/32", "RATE_LIMIT_QUERY_PER_MIN": "0"}
	for _, line := range fakes.YouTube.Env() {
		name, value, _ := strings.Cut(line, "=")
		environment[name] = value
	}
	override, err := json.Marshal(map[string]any{
		"services": map[string]any{"gateway": map[string]any{
			"environment": environment,
			"networks":    []string{"fakes"},
			"volumes":     []string{fakes.FakeDir() + ":" + fakes.FakeDir() + ":ro"},
		}},
		"networks": map[string]any{"fakes": map[string]any{"external": true, "name": network}},
	})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(p.dir, "compose.override.yaml"), override, 0o600))
	t.Cleanup(func() { p.remove(t) })
	return p
}

// readSettings reads the .env.
func (p *project) readSettings(t *testing.T) map[string]string {
	t.Helper()
	file := filepath.Join(p.dir, ".env")
	text, err := os.ReadFile(file)
	must(t, err)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf(".env has mode %v, %v", info.Mode(), err)
	}
	settings := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			settings[name] = value
		}
	}
	return settings
}

// apiKeyTransport adds the project's API key, and ignores HTTP_PROXY.
type apiKeyTransport struct{ key string }

var directTransport = &http.Transport{DisableKeepAlives: true} // the gateway is restarted

func (k apiKeyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("X-API-Key", k.key)
	return directTransport.RoundTrip(req)
}

// remove takes the project down. It logs the end of the log after a failure.
func (p *project) remove(t *testing.T) {
	t.Helper()
	if t.Failed() {
		out, err := p.command("logs", "--no-color", "--tail", "60").CombinedOutput()
		t.Logf("the end of the log, %v:\n%s", err, out)
	}
	_ = p.command("down", "--volumes", "--timeout", "10").Run()
	if p.newImage != "" {
		_, _ = docker.Try("rmi", p.newImage)
	}
}

func (p *project) command(args ...string) *exec.Cmd {
	cmd := exec.Command("docker", append([]string{"compose", "--project-name", p.name, "--project-directory", p.dir, "--ansi", "never"}, args...)...)
	cmd.Env = slices.Concat(os.Environ(), p.env)
	return cmd
}

// compose runs a compose command and returns its standard output.
func (p *project) compose(t *testing.T, args ...string) string {
	t.Helper()
	return docker.Exec(t, p.command(args...))
}

// gateway names the gateway's container.
func (p *project) gateway() string { return p.name + "-gateway-1" }

// inspectGateway reads the state of the gateway's container.
func (p *project) inspectGateway(t *testing.T, format string) string {
	t.Helper()
	return docker.Run(t, "inspect", "-f", format, p.gateway())
}

// workers lists the ids of a monitor's worker processes in the gateway's container.
func (p *project) workers(t *testing.T, monitorID string) []string {
	t.Helper()
	list := `for p in /proc/[0-9]*; do
		[[ $(tr '\0' ' ' <"$p/cmdline") == */"stream-monitor worker "*--monitor-id=` + monitorID + `* ]] && echo "${p#/proc/}"
	done 2>/dev/null; true`
	return strings.Fields(p.compose(t, "exec", "-T", "gateway", "bash", "-c", list))
}

// leftovers lists the containers, volumes and networks of the project.
func (p *project) leftovers(t *testing.T) (all []string) {
	t.Helper()
	for _, list := range [][]string{
		{"ps", "--all", "--format", "container {{.Names}}"},
		{"volume", "ls", "--format", "volume {{.Name}}"},
		{"network", "ls", "--format", "network {{.Name}}"},
	} {
		for line := range strings.Lines(docker.Run(t, append(list, "--filter", "label=com.docker.compose.project="+p.name)...)) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
