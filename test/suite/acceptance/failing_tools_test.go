package acceptance_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// The subprocess of the tool that hangs keeps its output open.
func TestStreamlinkReplacesAYtdlpThatHangs(t *testing.T) { // sections 5.2 and 10.2
	runTimeline(t, 1)
	env := startEnv(t, "YTDLP_PATH="+writeScript(t, "sleep 1000 & wait"))
	s := env.Watch(t, scenario.Video{})
	s.AssertBlackoutCycle()
	s.EndAndAssert(scenario.Blackout, scenario.BlackoutRecovered)
}

func TestACheckRunsNoYtdlpAndAtMostOneFFmpeg(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decoder      []string
		runsPerCheck int
	}{
		"ffmpeg alone":         {[]string{"DECODER_PATH=off"}, 1},
		"with segment-decoder": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			runTimeline(t, 1)
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
			env := startEnv(t, append(c.decoder, "FFMPEG_PATH="+ffmpeg, "YTDLP_PATH="+ytdlp, "TOOL_FILES=off", "EVIDENCE_CAPTURE=off")...) // the scripts write files
			v := newVideoID()
			stream, err := env.StartStream(t.Context(), v, livestream.Config{})
			if err != nil {
				t.Fatal(err)
			}
			id := env.Register(t, v, fastConfig())
			env.Eventually(t, scenario.StartTimeout+time.Minute, "ten checks", func() bool { return env.Analysed(t, id) >= 10 })
			stream.End()
			env.WaitEvent(t, id, scenario.Ended, 30*time.Second)
			done := int(env.Analysed(t, id))
			if got, want := ffmpegRuns(), c.runsPerCheck*done; got != want {
				t.Errorf("%d runs of ffmpeg for %d checks, want %d", got, done, want)
			}
			if got := ytdlpRuns(); got != 1 {
				t.Errorf("%d runs of yt-dlp, want the one at the start", got)
			}
		})
	}
}

// YouTube gives every client as which the real yt-dlp asks URLs that answer 403, and the one of the real streamlink URLs that work.
func TestStreamlinkReplacesAYtdlpWhoseEveryClientIsRefused(t *testing.T) { // section 5.2
	runTimeline(t, 1)
	env := startEnv(t, "YTDLP_PATH="+toolPath(t, "yt-dlp"), "STREAMLINK_PATH="+toolPath(t, "streamlink"))
	v := newVideoID()
	stream, err := env.StartStream(t.Context(), v, livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	env.YouTube.Add(v, youtube.Video{State: youtube.Live, Source: stream, OnlyFor: "ANDROID"})
	id := env.Register(t, v, fastConfig())
	env.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	env.Eventually(t, time.Minute, "five checks", func() bool { return env.Analysed(t, id) >= 5 })
	said := waitLog(t, env.Service, time.Minute, hasPrefix("The stream's state could not be learned, but its manifest was found"))
	if detail := fmt.Sprint(said.Data["detail"]); said.Data["source"] != "streamlink" || !strings.Contains(detail, "yt-dlp") || !strings.Contains(detail, "403") {
		t.Errorf("it says %s", said.Raw)
	}
	stream.End()
	env.WaitEvent(t, id, scenario.Ended, time.Minute)
}
