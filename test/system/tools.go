package system

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// variables name the tools in the environment.
var variables = map[string]string{"yt-dlp": "YTDLP_PATH", "streamlink": "STREAMLINK_PATH", "ffmpeg": "FFMPEG_PATH"}

// Tool is where a tool is: where its variable says, where "make tools" put it,
// or in PATH.
func Tool(name string) (string, error) {
	installed := filepath.Join(root(), ".tools", "venv", "bin", name)
	if _, err := os.Stat(installed); err != nil {
		installed = ""
	}
	path, err := exec.LookPath(cmp.Or(os.Getenv(variables[name]), installed, name))
	if err != nil {
		return "", fmt.Errorf("%s is not installed (make tools): %w", name, err)
	}
	return path, nil
}

// toolEnv leads the service to the tools: a binary outside of bin/ does not
// find those of "make tools" by itself.
func toolEnv() (env []string) {
	for tool, name := range variables {
		if path, err := Tool(tool); err == nil {
			env = append(env, name+"="+path)
		}
	}
	return env
}

// root is the directory of go.mod, upwards from where we are; empty: none.
func root() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// Environment is what leads another command of the binary the way the service
// is led: to the tools, and where extra says.
func (s *System) Environment(extra []string) []string { return append(toolEnv(), extra...) }

// Build builds the binary into dir, or finds the one in STREAM_MONITOR_BINARY.
func Build(ctx context.Context, dir string) (string, error) {
	if path := os.Getenv("STREAM_MONITOR_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	path := filepath.Join(dir, "stream-monitor")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/stream-monitor/stream-monitor/cmd/stream-monitor").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}
