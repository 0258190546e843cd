package ffmpeg_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // the tests start tools
)

// clipDir is the directory for encoded clips.
var clipDir string

func TestMain(m *testing.M) {
	dir, err := testtools.Cache("", "clips")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	clipDir = dir
	goleak.VerifyTestMain(m)
}

// patience is how long ffmpeg may take on a busy machine.
const patience = 2 * time.Minute

// realTool is the configuration of the real ffmpeg, with time for a busy machine.
func realTool(tb testing.TB) ffmpeg.Config {
	tb.Helper()
	return ffmpeg.Config{Files: []string{}, Path: ffmpegPath(tb), Timeout: patience}
}

// ffmpegPath returns the path of the real ffmpeg. Without it the test fails.
func ffmpegPath(tb testing.TB) string {
	tb.Helper()
	path, err := testtools.Tool("ffmpeg", "")
	if err != nil {
		tb.Fatal(err)
	}
	return path
}
