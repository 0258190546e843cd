package ffmpeg_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// shared is where clips are made, each once.
var shared string

// afterwards is printed when everything has run: the benchmark's table.
var afterwards string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "segments-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		fmt.Print(afterwards)
		os.Exit(code)
	}))
}

// tool finds the real ffmpeg: these tests are worth nothing without it.
func tool(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv("FFMPEG_PATH"); path != "" {
		return path
	}
	if path, err := filepath.Abs("../../.tools/venv/bin/ffmpeg"); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		tb.Fatalf("ffmpeg is missing: run make tools (%v)", err)
	}
	return path
}
