package youtube_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	_ "github.com/stream-monitor/stream-monitor/test/harness/testtools/launcher" // it starts tools
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const id = "fakeyoutube"

// answer is the output of yt-dlp or streamlink.
type answer struct {
	code           int
	stdout, stderr string
}

// The adapters' tests show what yt-dlp and streamlink make of every state and of
// every fault (adapters/stream/ytdlp, adapters/stream/streamlink). The tests here
// run a tool only for what those do not see.

func TestYtdlpSaysWhyAVideoCannotBePlayed(t *testing.T) {
	y, stream := startServer(t)
	for state, words := range map[youtube.State]string{
		youtube.Upcoming: "This live event will begin in a few moments.",
		youtube.Offline:  "Offline.",
		youtube.Removed:  "Video unavailable. This video has been removed by the uploader",
		youtube.Captcha:  "requiring a captcha challenge",
	} {
		t.Run(string(state), func(t *testing.T) {
			y.Add(id, youtube.Video{State: state, Source: stream, Scheduled: time.Now().Add(-time.Minute)})
			if a := ytdlp(t, y); !strings.Contains(a.stderr, words) {
				t.Errorf("stderr %q, want %q", a.stderr, words)
			}
		})
	}
}

func TestStreamlinkFindsTheRenditionsOfALiveStream(t *testing.T) {
	y, stream := startServer(t)
	y.Add(id, youtube.Video{State: youtube.Live, Source: stream})
	a := run(t, y, find(t, "STREAMLINK_PATH", "streamlink"), "--no-config", "--json", y.URL(id))
	var got struct {
		Streams map[string]struct{ Type, URL, Master string }
	}
	if err := json.Unmarshal([]byte(a.stdout), &got); err != nil {
		t.Fatalf("exit status %d: %v\n%s%s", a.code, err, a.stdout, a.stderr)
	}
	worst := got.Streams["worst"]
	if a.code != 0 || worst.Type != "hls" || !strings.Contains(worst.URL, "/itag/91/") || !strings.Contains(worst.Master, "/hls_variant/") || len(got.Streams) != 4 {
		t.Errorf("exit status %d, %s", a.code, a.stdout)
	}
}

// startServer starts a fake YouTube, and a stream that is not yet broadcast. The test
// fails if anything asks for a host that is not YouTube's.
func startServer(t *testing.T) (*youtube.Server, *livestream.Stream) {
	t.Helper()
	y, err := youtube.Start(youtube.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := y.Close(); err != nil {
			t.Error(err)
		}
		if refused := y.RefusedHosts(); len(refused) > 0 {
			t.Errorf("requests for other hosts: %v", refused)
		}
	})
	return y, startStream(t)
}

// ytdlp runs yt-dlp about the video id.
func ytdlp(t *testing.T, y *youtube.Server) answer {
	t.Helper()
	return ask(t, y, find(t, "YTDLP_PATH", "yt-dlp"), id)
}

// ask runs yt-dlp, or what stands in for it, as the product does.
func ask(t *testing.T, y *youtube.Server, tool, video string) answer {
	t.Helper()
	return run(t, y, tool, "--ignore-config", "--ignore-no-formats-error", "--no-playlist",
		"--socket-timeout", "10", "--extractor-retries", "1", "--dump-json", "--", y.URL(video))
}

// run runs a tool in the fake's environment.
func run(t *testing.T, y *youtube.Server, tool string, args ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Env = append(os.Environ(), y.Env()...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return answer{cmd.ProcessState.ExitCode(), out.String(), problems.String()}
}

// find returns the path of a tool, and fails the test if it is not installed.
func find(t *testing.T, variable, name string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	if path, err := filepath.Abs("../../../.tools/venv/bin/" + name); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed: run make tools", name)
	}
	return path
}

func startStream(t *testing.T) *livestream.Stream {
	t.Helper()
	library, err := livestream.Open(livestream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := library.Start(t.Context(), livestream.Config{Preroll: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}
