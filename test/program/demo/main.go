// Command demo shows the main job in under three minutes. A live stream starts late,
// plays, goes black, recovers, goes silent, recovers and ends. A receiver verifies a
// signed webhook for each of these. The service, yt-dlp, ffmpeg and PostgreSQL are
// real. YouTube and the receiver are fakes on this machine: no internet is needed.
//
// With KEEP=1 it ends by leaving the dashboard open, with two streams more, until it is
// interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// limit is the longest that the demo may take. It usually takes half of that.
const limit = 3 * time.Minute

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	dir, err := os.MkdirTemp("", "stream-monitor-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary := "bin/stream-monitor"
	if _, err := os.Stat(binary); err != nil {
		if binary, err = system.Build(ctx, dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(logFile), 0o755); err != nil {
		return err
	}
	log, err := os.Create(logFile)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()

	say("starting PostgreSQL, the service, a fake YouTube and a receiver (log: %s)", logFile)
	began := time.Now()
	set, err := testenv.Start(ctx, testenv.Config{Binary: binary, Log: log, Out: webhookLines{}})
	if err != nil {
		return err
	}
	say("the service listens at %s", set.Service.URL())
	truth, err := set.PlayMainScenario(ctx, "demonstrate", say)
	if err == nil {
		var m map[string]any
		m, err = set.Service.WaitStatus(ctx, truth.MonitorID, "completed")
		say("GET /api/v1/monitors/%s: status %v, stream %v, statistics %v", truth.MonitorID, m["status"], m["stream_status"], m["statistics"])
	}
	if err == nil && os.Getenv("KEEP") == "1" {
		err = keepOpen(set)
	}
	say("stopping everything")
	if err = errors.Join(err, set.Close()); err != nil {
		return err
	}
	say("done in %.0f s: every webhook arrived, signed and verified; no process is left", time.Since(began).Seconds())
	return nil
}

const logFile = "bin/demo.log"

func say(format string, args ...any) {
	fmt.Printf("%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// webhookLines prints the lines of the receiver, indented.
type webhookLines struct{}

func (webhookLines) Write(b []byte) (int, error) {
	fmt.Printf("    ▶ webhook  %s\n", strings.TrimRight(string(b), "\n"))
	return len(b), nil
}
