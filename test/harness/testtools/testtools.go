package testtools

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Variables name the tools in the environment.
var Variables = map[string]string{"yt-dlp": "YTDLP_PATH", "streamlink": "STREAMLINK_PATH", "ffmpeg": "FFMPEG_PATH"}

// Tool is where a tool is: at path, or, when that is empty, where its variable
// says, where "make tools" put it, or in PATH. Error: it is not there.
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

// Cache makes dir, or, when that is empty, stream-monitor/name in the user's
// cache directory, and returns it. Error: it cannot be made.
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
