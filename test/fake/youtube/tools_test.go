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

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const id = "stand-in_01"

// answer is what yt-dlp or streamlink said.
type answer struct {
	code           int
	stdout, stderr string
	took           time.Duration
}

// TestYtdlp asks the real yt-dlp about a video in every state.
func TestYtdlp(t *testing.T) {
	y, stream := begin(t)
	type want struct {
		status  string // live_status
		formats int
		stderr  string // a part of it; empty: nothing
	}
	wants := map[youtube.State]want{
		youtube.Upcoming:    {"is_upcoming", 0, "This live event will begin in a few moments."},
		youtube.Premiere:    {"is_upcoming", 0, "Premieres in 2 hours"},
		youtube.Live:        {"is_live", 2, ""},
		youtube.Offline:     {"is_live", 0, "Offline."},
		youtube.Ended:       {"was_live", 0, "This live event has ended."},
		youtube.PostLive:    {"post_live", 0, "This live event has ended."},
		youtube.Archived:    {"was_live", 1, ""},
		youtube.NoRecording: {"was_live", 0, "This live stream recording is not available."},
		youtube.Ordinary:    {"not_live", 1, ""},
		youtube.Private:     {"", 0, "Private video"},
		youtube.Removed:     {"", 0, "Video unavailable. This video has been removed by the uploader"},
		youtube.Unavailable: {"", 0, "Video unavailable"},
		youtube.Region:      {"", 0, "in your country"},
		youtube.Age:         {"", 0, "confirm your age"},
		youtube.Members:     {"", 0, "members-only content"},
		youtube.BotCheck:    {"", 0, "not a bot"},
		youtube.RateLimited: {"", 0, "rate-limited by YouTube"},
		youtube.Captcha:     {"", 0, "requiring a captcha challenge"},
	}
	for _, state := range youtube.States() {
		t.Run(string(state), func(t *testing.T) {
			want := wants[state]
			y.Add(id, youtube.Video{State: state, Source: stream, Scheduled: time.Now().Add(-time.Minute)})
			a := ytdlp(t, y)
			t.Logf("%v\n%s", a.took, a.stderr)
			var info struct {
				LiveStatus string           `json:"live_status"`
				Formats    []map[string]any `json:"formats"`
				FullTitle  string           `json:"fulltitle"`
				Release    int64            `json:"release_timestamp"`
			}
			if err := json.Unmarshal([]byte(a.stdout), &info); err != nil {
				t.Fatalf("exit %d, not JSON: %v\n%s", a.code, err, a.stdout)
			}
			if info.LiveStatus != want.status || len(info.Formats) != want.formats {
				t.Errorf("live_status %q with %d formats, want %q with %d", info.LiveStatus, len(info.Formats), want.status, want.formats)
			}
			if got := strings.TrimSpace(a.stderr); (got == "") != (want.stderr == "") || !strings.Contains(got, want.stderr) {
				t.Errorf("stderr %q, want %q", a.stderr, want.stderr)
			}
			if a.took > 20*time.Second {
				t.Errorf("took %v", a.took)
			}
		})
	}
}

// TestYtdlpFaults shows what yt-dlp makes of a YouTube that is not well.
func TestYtdlpFaults(t *testing.T) {
	for name, c := range map[string]struct {
		class youtube.Class
		fault httpfault.Fault
		live  bool   // all the same
		want  string // in stderr
	}{
		"a watch page that answers 429": {youtube.Watch, httpfault.Status(429), true, "HTTP Error 429"},
		"a player API that answers 429": {youtube.Player, httpfault.Status(429), true, "HTTP Error 429"},
		"a player API that answers 500": {youtube.Player, httpfault.Status(500), true, "HTTP Error 500"},
		"everything answers 403":        {"", httpfault.Status(403), false, "HTTP Error 403"},
		"everything hangs":              {"", httpfault.Hang(), false, "timed out"},
		"connections that are reset":    {"", httpfault.Reset(), false, "onnection"},
		"a watch page that is cut off":  {youtube.Watch, httpfault.Truncate(), true, "ncomplete"},
		"a manifest that answers 404":   {youtube.Manifest, httpfault.Status(404), true, "HTTP Error 404"},
	} {
		t.Run(name, func(t *testing.T) {
			y, stream := begin(t)
			y.Add(id, youtube.Video{State: youtube.Live, Source: stream})
			y.Inject(c.class, "", 0, c.fault)
			a := run(t, y, find(t, "YTDLP_PATH", "yt-dlp"), "--ignore-config", "--dump-json", "--ignore-no-formats-error", "--no-playlist",
				"--socket-timeout", "2", "--extractor-retries", "0", "--", y.URL(id))
			if got := strings.Contains(a.stdout, `"live_status": "is_live"`); got != c.live || !strings.Contains(a.stderr, c.want) {
				t.Errorf("live %v after %v, stderr:\n%s", got, a.took, a.stderr)
			}
		})
	}
}

// TestStreamlink asks the real streamlink about a video in every state.
func TestStreamlink(t *testing.T) {
	y, stream := begin(t)
	refused := func(s youtube.State) bool { return s != youtube.Live && s != youtube.Archived && s != youtube.Ordinary }
	for _, state := range youtube.States() {
		t.Run(string(state), func(t *testing.T) {
			y.Add(id, youtube.Video{State: state, Source: stream})
			a := run(t, y, find(t, "STREAMLINK_PATH", "streamlink"), "--no-config", "--json", y.URL(id))
			var got struct {
				Error   string `json:"error"`
				Streams map[string]struct{ Type, URL, Master string }
			}
			if err := json.Unmarshal([]byte(a.stdout), &got); err != nil {
				t.Fatalf("exit %d: %v\n%s%s", a.code, err, a.stdout, a.stderr)
			}
			switch {
			case refused(state):
				if a.code != 1 || got.Error == "" {
					t.Errorf("exit %d, %s", a.code, a.stdout)
				}
			case state == youtube.Live:
				worst := got.Streams["worst"]
				if a.code != 0 || worst.Type != "hls" || !strings.Contains(worst.URL, "/itag/91/") || !strings.Contains(worst.Master, "/hls_variant/") || len(got.Streams) != 4 {
					t.Errorf("exit %d, %s", a.code, a.stdout)
				}
			case a.code != 0 || got.Streams["360p"].Type != "http":
				t.Errorf("exit %d, %s", a.code, a.stdout)
			}
			if a.took > 20*time.Second {
				t.Errorf("took %v", a.took)
			}
		})
	}
	t.Run("a plain run says why", func(t *testing.T) {
		y.Set(id, youtube.Upcoming)
		a := run(t, y, find(t, "STREAMLINK_PATH", "streamlink"), "--no-config", y.URL(id))
		if !strings.Contains(a.stdout+a.stderr, "LIVE_STREAM_OFFLINE: This live event will begin") {
			t.Errorf("exit %d\n%s%s", a.code, a.stdout, a.stderr)
		}
	})
	t.Run("a demuxed ladder", func(t *testing.T) {
		library, err := livestream.Open(livestream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		demuxed, err := library.Start(t.Context(), livestream.Config{Preroll: time.Minute, Renditions: []livestream.Rendition{livestream.Video144p, livestream.AudioOnly}})
		if err != nil {
			t.Fatal(err)
		}
		y.Broadcast(id, demuxed)
		a := ytdlp(t, y)
		var info struct {
			Formats []struct{ Vcodec, Acodec string }
		}
		if err := json.Unmarshal([]byte(a.stdout), &info); err != nil || len(info.Formats) != 2 {
			t.Fatalf("%v, %+v, %s", err, info, a.stderr)
		}
		if f := info.Formats; f[0].Vcodec != "none" || f[1].Acodec != "none" {
			t.Errorf("formats %+v", f)
		}
	})
}

func begin(t *testing.T) (*youtube.Server, *livestream.Stream) {
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
			t.Errorf("asked for %v", refused)
		}
	})
	library, err := livestream.Open(livestream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := library.Start(t.Context(), livestream.Config{Preroll: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return y, stream
}

func ytdlp(t *testing.T, y *youtube.Server) answer {
	t.Helper()
	return run(t, y, find(t, "YTDLP_PATH", "yt-dlp"), "--ignore-config", "--dump-json", "--ignore-no-formats-error", "--no-playlist",
		"--socket-timeout", "10", "--extractor-retries", "1", "--", y.URL(id))
}

// run runs a tool in the stand-in's environment.
func run(t *testing.T, y *youtube.Server, tool string, args ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Env = append(os.Environ(), y.Env()...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	began := time.Now()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return answer{cmd.ProcessState.ExitCode(), out.String(), problems.String(), time.Since(began)}
}

// find returns the path of a tool that the tests cannot do without.
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
