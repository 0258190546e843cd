//go:build compose

package compose_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// project is a copy of deploy/compose.yaml with an .env by compose-env.sh and a
// unique project name.
type project struct {
	name, dir string
	env       []string // overrides .env
	secrets   map[string]string
}

// newProject copies the files and makes the .env.
func newProject(t *testing.T, image string, env ...string) *project {
	t.Helper()
	p := &project{name: fmt.Sprintf("stream-monitor-compose-%d", os.Getpid()), dir: t.TempDir(), env: env, secrets: map[string]string{}}
	for _, name := range []string{"compose.yaml", "compose-env.sh", "compose.env.example"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(p.dir, name), b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run(t, exec.Command(filepath.Join(p.dir, "compose-env.sh"), image))
	settings, err := os.ReadFile(filepath.Join(p.dir, ".env"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(p.dir, ".env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf(".env has mode %v", info.Mode())
	}
	for line := range strings.Lines(string(settings)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			p.secrets[name] = value
		}
	}
	return p
}

// remove takes the project down. It logs the end of the log after a failure.
func (p *project) remove(t *testing.T) {
	t.Helper()
	if t.Failed() {
		t.Logf("the end of the log:\n%s", p.try(t, "logs", "--no-color", "--tail", "60"))
	}
	_ = p.try(t, "down", "--volumes", "--timeout", "10")
}

// override writes compose.override.yaml.
func (p *project) override(t *testing.T, settings map[string]any) {
	t.Helper()
	b, err := json.Marshal(settings)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.dir, "compose.override.yaml"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
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
	return run(t, p.command(args...))
}

func (p *project) try(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v\n%s", err, out)
	}
	return string(out)
}

// leftovers lists the containers, volumes and networks of the project.
func (p *project) leftovers(t *testing.T) (all []string) {
	t.Helper()
	filter := "label=com.docker.compose.project=" + p.name
	for _, list := range [][]string{
		{"ps", "--all", "--format", "container {{.Names}}"},
		{"volume", "ls", "--format", "volume {{.Name}}"},
		{"network", "ls", "--format", "network {{.Name}}"},
	} {
		for line := range strings.Lines(docker(t, append(list, "--filter", filter)...)) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, exec.Command("docker", args...))
}

func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return strings.TrimSpace(stdout.String())
}

// waitFor polls a condition.
func waitFor(t *testing.T, within time.Duration, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
