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

// toolEnv returns the variables that name the tools of "make tools", which a
// binary outside of bin/ does not find.
func toolEnv() (env []string) {
	for tool, name := range testtools.Variables {
		if path, err := testtools.Tool(tool, ""); err == nil {
			env = append(env, name+"="+path)
		}
	}
	if path, err := testtools.Decoder(); err == nil {
		env = append(env, "DECODER_PATH="+path)
	}
	if path, err := testtools.Launcher(); err == nil {
		env = append(env, "LAUNCHER_PATH="+path)
	}
	return append(env, "TOOL_FILES="+strings.Join(installations(), ":"))
}

// installations returns the folders of the real tools. A stand-in for one, which is
// elsewhere, may run it.
func installations() (folders []string) {
	for tool := range testtools.Variables {
		path, err := testtools.Tool(tool, "")
		if err != nil {
			continue
		}
		folders = append(folders, filepath.Dir(filepath.Dir(path)))
		if python, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(path), "python")); err == nil {
			folders = append(folders, filepath.Dir(filepath.Dir(python)))
		}
	}
	return folders
}

// Environment returns the environment of another command of the binary: the
// tools' variables and extra.
func (s *Service) Environment(extra []string) []string { return append(toolEnv(), extra...) }

// Build builds the binary into dir and returns its path. Without build tags it
// returns the binary that STREAM_MONITOR_BINARY names, if it is set.
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
