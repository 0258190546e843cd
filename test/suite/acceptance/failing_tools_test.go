package acceptance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// writeScript writes a shell script that stands in for a tool.
func writeScript(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStreamlinkReplacesABrokenYtdlp(t *testing.T) { // sections 5.2 and 10.2
	t.Parallel()
	for name, c := range map[string]struct{ ytdlp, state string }{
		"is missing":  {"/nowhere/yt-dlp", "tool_failed"},
		"hangs":       {"#", "unreachable"},
		"prints HTML": {"echo '<html>'; exit 0", "tool_failed"},
		"is killed":   {"kill -9 $$", "tool_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 1, 120*time.Second)
			path := c.ytdlp
			if c.ytdlp == "#" {
				path = writeScript(t, "sleep 1000 & wait") // the subprocess keeps the output open
			} else if !strings.HasPrefix(path, "/") {
				path = writeScript(t, c.ytdlp)
			}
			env := startEnv(t, "YTDLP_PATH="+path)
			t.Run("when streamlink finds no stream either, the failure is logged and polling continues", func(t *testing.T) {
				v := newVideoID()
				env.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
				id := register(t, env, v, fastConfig())
				if _, err := env.Service.WaitLog(timeoutContext(t, 100*time.Second), func(l system.Line) bool {
					state, _ := l.Data["state"].(string)
					return l.MonitorID == id && l.Level == "WARN" && (state == c.state || state == "tool_failed")
				}); err != nil {
					t.Fatalf("%v\n%s", err, env.Service.Tail(10))
				}
				waitStatus(t, env, id, "waiting", 5*time.Second)
				assertEvents(t, env, id)
			})
			t.Run("a stream that streamlink finds is watched", func(t *testing.T) {
				v := newVideoID()
				stream, err := env.StartStream(t.Context(), v, livestream.Config{})
				if err != nil {
					t.Fatal(err)
				}
				id := register(t, env, v, fastConfig())
				waitEvent(t, env, id, "stream.started", 100*time.Second)
				eventually(t, 30*time.Second, "the first check", func() bool { return checks(t, env, id) > 0 })
				black := stream.Black(true)
				assertNear(t, "started_at", waitEvent(t, env, id, "alert.blackout", 60*time.Second).Data.StartedAt, black, mediaTolerance)
				stream.End()
				waitEvent(t, env, id, "stream.ended", 30*time.Second)
				assertEvents(t, env, id, "stream.started", "alert.blackout", "stream.ended")
			})
		})
	}
}

func TestAMissingFFmpegIsReported(t *testing.T) {
	runOutageTimeline(t, 1, 85*time.Second)
	env := startEnv(t, "FFMPEG_PATH=/nowhere/ffmpeg", "DECODER_PATH=off")
	v := newVideoID()
	if _, err := env.StartStream(t.Context(), v, livestream.Config{}); err != nil {
		t.Fatal(err)
	}
	id := register(t, env, v, fastConfig())
	waitEvent(t, env, id, "stream.started", startTimeout)
	e := waitEvent(t, env, id, "alert.segment_error", 120*time.Second)
	if e.Data.Failure != "segment" || !strings.Contains(e.Data.LastError, "ffmpeg") {
		t.Errorf("failure %q, last error %q", e.Data.Failure, e.Data.LastError)
	}
	assertEvents(t, env, id, "stream.started", "alert.segment_error")
}

func TestACheckRunsNoYtdlpAndAtMostOneFFmpeg(t *testing.T) {
	runTimeline(t, 2, 40*time.Second)
	for name, c := range map[string]struct {
		decoder      []string
		runsPerCheck int
	}{
		"ffmpeg alone":         {[]string{"DECODER_PATH=off"}, 1},
		"with segment-decoder": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			count := func(tool string) (path string, runs func() int) {
				// Each run creates an empty file, because ffmpeg may not write to files.
				mark := filepath.Join(dir, tool)
				return writeScript(t, ": > "+mark+".$$; exec "+toolPath(t, tool)+` "$@"`), func() int {
					runs, err := filepath.Glob(mark + ".*")
					if err != nil {
						t.Fatal(err)
					}
					return len(runs)
				}
			}
			ffmpeg, ffmpegRuns := count("ffmpeg")
			ytdlp, ytdlpRuns := count("yt-dlp")
			env := startEnv(t, append(c.decoder, "FFMPEG_PATH="+ffmpeg, "YTDLP_PATH="+ytdlp, "TOOL_FILES=off")...) // the scripts write files
			v := newVideoID()
			stream, err := env.StartStream(t.Context(), v, livestream.Config{})
			if err != nil {
				t.Fatal(err)
			}
			id := register(t, env, v, fastConfig())
			waitEvent(t, env, id, "stream.started", startTimeout)
			eventually(t, 60*time.Second, "ten checks", func() bool { return checks(t, env, id) >= 10 })
			stream.End()
			waitEvent(t, env, id, "stream.ended", 30*time.Second)
			done := int(checks(t, env, id))
			if got, want := ffmpegRuns(), c.runsPerCheck*done; got != want {
				t.Errorf("%d runs of ffmpeg for %d checks, want %d", got, done, want)
			}
			if got := ytdlpRuns(); got != 1 {
				t.Errorf("%d runs of yt-dlp, want the one at the start", got)
			}
		})
	}
}

// toolPath returns the path of an installed tool.
func toolPath(t *testing.T, tool string) string {
	t.Helper()
	path, err := testtools.Tool(tool, "")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
