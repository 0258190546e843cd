package testtools

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Variables holds the environment variable of each tool.
var Variables = map[string]string{"yt-dlp": "YTDLP_PATH", "streamlink": "STREAMLINK_PATH", "ffmpeg": "FFMPEG_PATH"}

// Tool returns the path of a tool: path unless it is empty, else what its
// variable says, what "make tools" installed, or what PATH finds. Error: there is
// no such program.
func Tool(name, path string) (string, error) {
	installed := filepath.Join(root(), ".tools", "venv", "bin", name)
	if _, err := os.Stat(installed); err != nil {
		installed = ""
	}
	path, err := exec.LookPath(cmp.Or(path, os.Getenv(Variables[name]), installed, name))
	if err != nil {
		return "", fmt.Errorf("%s is not installed (make tools, or set %s): %w", name, Variables[name], err)
	}
	return path, nil
}

// Cache creates dir and returns it. An empty dir means stream-monitor/name in the
// user's cache directory.
func Cache(dir, name string) (string, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil { // no HOME, as in some build containers
			cache = filepath.Join(os.TempDir(), fmt.Sprintf("cache-%d", os.Getuid()))
		}
		dir = filepath.Join(cache, "stream-monitor", name)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("the cache of %s: %w", name, err)
	}
	return dir, nil
}

// root returns the nearest parent directory with a go.mod, or an empty string.
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
