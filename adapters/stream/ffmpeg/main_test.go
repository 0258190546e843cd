package ffmpeg_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
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
	path, err := testtools.Tool("ffmpeg", "")
	if err != nil {
		tb.Fatal(err)
	}
	return path
}
