package acceptance_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
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
