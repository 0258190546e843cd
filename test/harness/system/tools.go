package system

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// toolEnv leads the service to the tools: a binary outside of bin/ does not
// find those of "make tools" by itself.
func toolEnv() (env []string) {
	for tool, name := range testtools.Variables {
		if path, err := testtools.Tool(tool, ""); err == nil {
			env = append(env, name+"="+path)
		}
	}
	return env
}

// Environment is what leads another command of the binary the way the service
// is led: to the tools, and where extra says.
func (s *Service) Environment(extra []string) []string { return append(toolEnv(), extra...) }

// Build builds the binary into dir, or finds the one in STREAM_MONITOR_BINARY;
// one that is to have build tags is always built.
func Build(ctx context.Context, dir string, tags ...string) (string, error) {
	if path := os.Getenv("STREAM_MONITOR_BINARY"); path != "" && len(tags) == 0 {
		return filepath.Abs(path)
	}
	path := filepath.Join(dir, "stream-monitor")
	out, err := exec.CommandContext(ctx, "go", "build", "-tags", strings.Join(tags, ","), "-o", path, "github.com/stream-monitor/stream-monitor/cmd/stream-monitor").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}
