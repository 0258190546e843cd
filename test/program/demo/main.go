// Command demo shows the main job, for real and in under three minutes: a live
// stream starts late, plays, goes black, recovers, goes silent, recovers and
// ends, and for each of these a signed webhook arrives at a receiver that
// verifies it. Everything is what runs in production, yt-dlp, ffmpeg and
// PostgreSQL included; only YouTube and the receiver are stand-ins on this
// machine, so that no internet is needed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// limit is what the story may take; it takes half of it.
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
	out := narrator{os.Stdout, coloured()}

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

	out.say("starting PostgreSQL, the service, a stand-in for YouTube and a receiver (log: %s)", logFile)
	began := time.Now()
	set, err := testenv.Start(ctx, testenv.Config{Binary: binary, Log: log, Out: out.webhooks()})
	if err != nil {
		return err
	}
	out.say("the service listens at %s", set.Service.URL())
	truth, err := set.PlayMainScenario(ctx, "demonstrate", out.say)
	if err == nil {
		err = out.answer(ctx, set, truth)
	}
	out.say("stopping everything")
	if err = errors.Join(err, set.Close()); err != nil {
		return err
	}
	out.say("done in %.0f s: every webhook arrived, signed and verified; no process is left", time.Since(began).Seconds())
	return nil
}

const logFile = "bin/demo.log"

// narrator prints the story: what is done to the stream on the left, what the
// receiver gets indented.
type narrator struct {
	out    io.Writer
	colour bool
}

func coloured() bool {
	info, err := os.Stdout.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == ""
}

func (n narrator) say(format string, args ...any) {
	fmt.Fprintf(n.out, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// webhooks is where the receiver writes its lines to.
func (n narrator) webhooks() io.Writer { return webhookLines{n} }

type webhookLines struct{ narrator }

func (w webhookLines) Write(p []byte) (int, error) {
	line := "    ▶ webhook  " + strings.TrimRight(string(p), "\n")
	if w.colour {
		line = "\x1b[36m" + line + "\x1b[0m"
	}
	fmt.Fprintln(w.out, line)
	return len(p), nil
}

// answer shows what the API says of the monitor in the end.
func (n narrator) answer(ctx context.Context, set *testenv.Env, t testenv.GroundTruth) error {
	m, err := set.Service.Monitor(ctx, t.MonitorID)
	if err != nil {
		return err
	}
	n.say("GET /api/v1/monitors/%s: status %v, stream %v, %v", t.MonitorID, m["status"], m["stream_status"], counted(m["statistics"]))
	if m["status"] != "completed" {
		return fmt.Errorf("the monitor is %v, not completed", m["status"])
	}
	return nil
}

// counted is the statistics of a monitor in words.
func counted(statistics any) string {
	s, _ := statistics.(map[string]any)
	return fmt.Sprintf("%v segments analysed, %v blackout, %v silence", s["total_segments_analyzed"], s["blackout_events"], s["silence_events"])
}
