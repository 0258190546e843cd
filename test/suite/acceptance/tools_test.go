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

// script writes a program to stand in for a tool that is broken.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAYtdlpThatIsOfNoUse(t *testing.T) { // 5.2, 10.2
	for name, c := range map[string]struct{ ytdlp, says string }{
		"is missing":      {"/nowhere/yt-dlp", "tool_failed"},
		"hangs":           {"#", "unreachable"},
		"prints rubbish":  {"echo '<html>'; exit 0", "tool_failed"},
		"is being killed": {"kill -9 $$", "tool_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := c.ytdlp
			if c.ytdlp == "#" {
				path = script(t, "sleep 1000 & wait") // with a child that holds its output
			} else if !strings.HasPrefix(path, "/") {
				path = script(t, c.ytdlp)
			}
			s := own(t, "YTDLP_PATH="+path)
			t.Run("and nothing else finds the stream: it is said, and the watch goes on", func(t *testing.T) {
				v := video()
				s.YouTube.Add(v, youtube.Video{State: youtube.Upcoming})
				id := register(t, s, v, quick())
				if _, err := s.Service.WaitLog(limited(t, 100*time.Second), func(l system.Line) bool {
					state, _ := l.Data["state"].(string)
					return l.MonitorID == id && l.Level == "WARN" && (state == c.says || state == "tool_failed")
				}); err != nil {
					t.Fatalf("%v\n%s", err, s.Service.Tail(10))
				}
				becomes(t, s, id, "waiting", 5*time.Second)
				only(t, s, id)
			})
			t.Run("but streamlink finds the stream: it is watched", func(t *testing.T) {
				v := video()
				stream, err := s.StartStream(t.Context(), v, livestream.Config{})
				if err != nil {
					t.Fatal(err)
				}
				id := register(t, s, v, quick())
				arrives(t, s, id, "stream.started", 100*time.Second)
				black := stream.Black(true)
				near(t, "started_at", arrives(t, s, id, "alert.blackout", 60*time.Second).Data.StartedAt, black, exact)
				stream.End()
				arrives(t, s, id, "stream.ended", 30*time.Second)
				only(t, s, id, "stream.started", "alert.blackout", "stream.ended")
			})
		})
	}
}

func TestWithoutFFmpeg(t *testing.T) {
	t.Parallel()
	s := own(t, "FFMPEG_PATH=/nowhere/ffmpeg")
	v := video()
	if _, err := s.StartStream(t.Context(), v, livestream.Config{}); err != nil {
		t.Fatal(err)
	}
	id := register(t, s, v, quick())
	arrives(t, s, id, "stream.started", 60*time.Second)
	e := arrives(t, s, id, "alert.segment_error", 120*time.Second)
	if e.Data.Failure != "segment" || !strings.Contains(e.Data.LastError, "ffmpeg") {
		t.Errorf("failure %q, last error %q", e.Data.Failure, e.Data.LastError)
	}
	only(t, s, id, "stream.started", "alert.segment_error")
}

func TestACheckSpawnsOneFFmpegAndNoYtdlp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	count := func(tool string) (path string, runs func() int) {
		// A file for each run, and an empty one: ffmpeg may not write to files.
		mark := filepath.Join(dir, tool)
		return script(t, ": > "+mark+".$$; exec "+installed(t, tool)+` "$@"`), func() int {
			runs, err := filepath.Glob(mark + ".*")
			if err != nil {
				t.Fatal(err)
			}
			return len(runs)
		}
	}
	ffmpeg, analyses := count("ffmpeg")
	ytdlp, questions := count("yt-dlp")
	s := own(t, "FFMPEG_PATH="+ffmpeg, "YTDLP_PATH="+ytdlp)
	v := video()
	stream, err := s.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	id := register(t, s, v, quick())
	arrives(t, s, id, "stream.started", 60*time.Second)
	eventually(t, 60*time.Second, "ten checks", func() bool { return checks(t, s, id) >= 10 })
	stream.End()
	arrives(t, s, id, "stream.ended", 30*time.Second)
	if got, want := analyses(), int(checks(t, s, id)); got != want {
		t.Errorf("%d runs of ffmpeg for %d checks", got, want)
	}
	if got := questions(); got != 1 {
		t.Errorf("%d runs of yt-dlp, want the one at the start", got)
	}
}

// installed is where a tool really is.
func installed(t *testing.T, tool string) string {
	t.Helper()
	path, err := testtools.Tool(tool, "")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
