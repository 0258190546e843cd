//go:build image

package image_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/docker"
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

// runInside runs a program of the image in a hardened container without a network.
func runInside(t *testing.T, program string, args ...string) string {
	t.Helper()
	all := append([]string{"run", "--rm", "--network", "none"}, hardened...)
	return docker.Run(t, append(append(all, "--entrypoint", program, image), args...)...)
}

// imageConfig is the configuration that the image declares.
type imageConfig struct {
	User       string
	Entrypoint []string
	Cmd        []string
	Labels     map[string]string
}

func inspect(t *testing.T) (c imageConfig) {
	t.Helper()
	if err := json.Unmarshal([]byte(docker.Run(t, "image", "inspect", "-f", "{{json .Config}}", image)), &c); err != nil {
		t.Fatal(err)
	}
	return c
}
