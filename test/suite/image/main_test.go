//go:build image

package image_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// image is the one under test.
var image = os.Getenv("IMAGE")

// hardened is how a worker is run in a cluster (section 8.1): as nobody in
// particular, without anything to write to but its own directory.
var hardened = []string{
	"--read-only", "--tmpfs", "/tmp/segments:mode=1777", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
}

func TestMain(m *testing.M) {
	if image == "" || strings.HasSuffix(image, ":latest") {
		fmt.Fprintln(os.Stderr, "image: IMAGE has to name the image to test, with a tag of its own")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// docker runs a docker command and gives what it printed.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := try(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w\n%s%s", strings.Join(args, " "), err, out.Bytes(), said.Bytes())
	}
	return strings.TrimSpace(out.String()), nil
}

// inside runs a program of the image in a hardened container.
func inside(t *testing.T, program string, args ...string) string {
	t.Helper()
	all := append([]string{"run", "--rm", "--network", "none"}, hardened...)
	return docker(t, append(append(all, "--entrypoint", program, image), args...)...)
}

// network makes a network, for as long as the test takes, and tells at which
// address of it this machine is.
func network(t *testing.T) (name, host string) {
	t.Helper()
	name = fmt.Sprintf("stream-monitor-image-%d-%s", os.Getpid(), strings.ToLower(t.Name()))
	docker(t, "network", "create", name)
	t.Cleanup(func() { _, _ = try(t, "network", "rm", name) })
	return name, docker(t, "network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", name)
}

// logs is what a container has printed, events and log.
func logs(t *testing.T, container string) string {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "docker", "logs", container).CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// settings is what the image says of itself.
type settings struct {
	User         string
	Entrypoint   []string
	Cmd          []string
	Labels       map[string]string
	ExposedPorts map[string]any
}

func inspect(t *testing.T) (c settings) {
	t.Helper()
	if err := json.Unmarshal([]byte(docker(t, "image", "inspect", "-f", "{{json .Config}}", image)), &c); err != nil {
		t.Fatal(err)
	}
	return c
}
