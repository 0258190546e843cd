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

// image is the image under test.
var image = os.Getenv("IMAGE")

// hardened are the options that restrict a container like a worker in a cluster
// (section 8.1): no capability, and one writable directory.
var hardened = []string{
	"--read-only", "--tmpfs", "/tmp/segments:mode=1777", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
}

func TestMain(m *testing.M) {
	if image == "" || strings.HasSuffix(image, ":latest") {
		fmt.Fprintln(os.Stderr, "image: IMAGE must name the image to test, with a tag other than latest")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// docker runs a docker command and returns its standard output.
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
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w\n%s%s", strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return strings.TrimSpace(stdout.String()), nil
}

// runInside runs a program of the image in a hardened container without a network.
func runInside(t *testing.T, program string, args ...string) string {
	t.Helper()
	all := append([]string{"run", "--rm", "--network", "none"}, hardened...)
	return docker(t, append(append(all, "--entrypoint", program, image), args...)...)
}

// newNetwork makes a network that is removed after the test. host is this machine's
// address in it.
func newNetwork(t *testing.T) (name, host string) {
	t.Helper()
	name = fmt.Sprintf("stream-monitor-image-%d-%s", os.Getpid(), strings.ToLower(t.Name()))
	docker(t, "network", "create", name)
	t.Cleanup(func() { _, _ = try(t, "network", "rm", name) })
	return name, docker(t, "network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", name)
}

// logs returns what a container has printed.
func logs(t *testing.T, container string) string {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "docker", "logs", container).CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// imageConfig is the configuration that the image declares.
type imageConfig struct {
	User         string
	Entrypoint   []string
	Cmd          []string
	Labels       map[string]string
	ExposedPorts map[string]any
}

func inspect(t *testing.T) (c imageConfig) {
	t.Helper()
	if err := json.Unmarshal([]byte(docker(t, "image", "inspect", "-f", "{{json .Config}}", image)), &c); err != nil {
		t.Fatal(err)
	}
	return c
}
