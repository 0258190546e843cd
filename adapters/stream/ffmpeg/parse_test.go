package ffmpeg_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// versions lists the ffmpeg versions whose real output is in testdata. The oldest
// supported one decodes both tracks in one thread; 9.0 has a thread for each.
var versions = []string{"5.1", "9.0"}

func TestRecordedOutputOfEveryVersionIsParsed(t *testing.T) {
	for name, c := range map[string]struct{ video, audio track }{
		// 4 s from 95440 s on, where 33-bit timestamps wrap. Black: two frames at 1 s,
		// 2 s to 2.5 s, and the last two frames. Silent: 0.5 s to 0.6 s, 1 s to 1.7 s, and
		// the last 0.12 s.
		"black-and-silence": {
			track{from: primingSeconds, to: 4 + primingSeconds, intervals: [][2]float64{{2 + primingSeconds, 2.5 + primingSeconds}, {3.954667, 4 + primingSeconds}}},
			track{to: 4.032, intervals: [][2]float64{{0.533458, 0.639875}, {1.024125, 1.727958}, {3.904062, 4.032}}},
		},
		// 256x144 and stereo become 320x180 and 5.1 at 2 s, black and silent.
		"changing-format": {
			track{from: primingSeconds, to: 4 + primingSeconds, intervals: [][2]float64{{1.554667, 2.521333}}},
			track{to: 4.026667, intervals: [][2]float64{{1.536021, 4.026667}}},
		},
		"dead-video": {track{}, track{to: 5.034667}},
		"dead-audio": {track{to: 5}, track{}},
	} {
		for _, version := range versions {
			t.Run(name+" by ffmpeg "+version, func(t *testing.T) {
				video, audio, err := ffmpeg.Parse(recorded(t, name, version))
				if err != nil {
					t.Fatal(err)
				}
				compareTrack(t, "video", video, c.video, printPrecision)
				compareTrack(t, "audio", audio, c.audio, printPrecision)
			})
		}
	}
	for _, version := range versions {
		t.Run("garbage by ffmpeg "+version, func(t *testing.T) {
			_, _, err := ffmpeg.Parse(recorded(t, "garbage", version))
			f := checkFailure(t, err, watch.FailureUndecodable)
			if strings.Contains(f.Detail, "@ 0x") {
				t.Errorf("detail = %q", f.Detail)
			}
		})
	}
}

func recorded(t testing.TB, name, version string) (stdout, stderr []byte) {
	t.Helper()
	return readTestdata(t, name+"-"+version+".stdout"), readTestdata(t, name+"-"+version+".stderr")
}

func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// printedFrames returns the output for n frames that are step seconds apart, with the
// tags of some frames.
func printedFrames(n int, step float64, tags map[int]string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "frame:%-4d pts:%-7d pts_time:%g\n", i, i, float64(i)*step)
		if tag, ok := tags[i]; ok {
			b.WriteString(tag + "\n")
		}
		b.WriteString("v=1\n")
	}
	return b.String()
}

// outputCase is ffmpeg's output with the expected tracks.
type outputCase struct {
	stdout, stderr string
	video, audio   track
}

func checkOutputs(t *testing.T, cases map[string]outputCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			video, audio, err := ffmpeg.Parse([]byte(c.stdout), []byte(c.stderr))
			if err != nil {
				t.Fatal(err)
			}
			compareTrack(t, "video", video, c.video, time.Microsecond)
			compareTrack(t, "audio", audio, c.audio, time.Microsecond)
		})
	}
}

// thirtyFrames returns the output for 3 s of frames, with the tags of some frames.
func thirtyFrames(tags map[int]string) string { return printedFrames(30, 0.1, tags) }

func TestUnusualIntervalsAreParsed(t *testing.T) {
	checkOutputs(t, map[string]outputCase{
		"log lines of other threads stand before listed ones": {
			"", strings.ReplaceAll(thirtyFrames(map[int]string{5: "lavfi.silence_start=0.5"}), "frame:", "[h264 @ 0x55] odd frame: frame:"),
			track{absent: true}, track{to: 3, intervals: [][2]float64{{0.5, 3}}},
		},
		"an interval that begins and ends on one long frame": {
			"", thirtyFrames(map[int]string{7: "lavfi.silence_start=0.55\nlavfi.silence_end=0.71"}),
			track{absent: true}, track{to: 3, intervals: [][2]float64{{0.55, 0.71}}},
		},
		"an interval that ends and another that begins on one long frame": {
			"", thirtyFrames(map[int]string{2: "lavfi.silence_start=0.1", 7: "lavfi.silence_end=0.71\nlavfi.silence_start=0.71"}),
			track{absent: true}, track{to: 3, intervals: [][2]float64{{0.1, 3}}},
		},
		"silence that starts before the track": {
			"", thirtyFrames(map[int]string{2: "lavfi.silence_start=-0.02"}),
			track{absent: true}, track{to: 3, intervals: [][2]float64{{0, 3}}},
		},
		"an end without a beginning": {
			thirtyFrames(map[int]string{9: "lavfi.black_end=0.9"}), "",
			track{to: 3}, track{absent: true},
		},
		"black of 0.1 s that six digits make 3 µs shorter": {
			thirtyFrames(map[int]string{9: "lavfi.black_start=0.921333", 10: "lavfi.black_end=1.02133"}), "",
			track{to: 3, intervals: [][2]float64{{0.921333, 1.02133}}}, track{absent: true},
		},
		"an interval whose start is printed twice": {
			thirtyFrames(map[int]string{5: "lavfi.black_start=0.5", 9: "lavfi.black_start=0.9"}), "",
			track{to: 3, intervals: [][2]float64{{0.5, 3}}}, track{absent: true},
		},
		"a change of format on a frame without a time": {
			thirtyFrames(map[int]string{5: "lavfi.black_start=0.5"}) + "frame:0 pts:NOPTS pts_time:NOPTS\n", "",
			track{to: 3, intervals: [][2]float64{{0.5, 3}}}, track{absent: true},
		},
		"intervals out of order": {
			thirtyFrames(map[int]string{8: "lavfi.black_start=2", 9: "lavfi.black_end=2.5", 11: "lavfi.black_start=0.5", 12: "lavfi.black_end=1"}), "",
			track{to: 3, intervals: [][2]float64{{0.5, 1}, {2, 2.5}}}, track{absent: true},
		},
		"an interval within another": {
			thirtyFrames(map[int]string{8: "lavfi.black_start=1", 9: "lavfi.black_end=2.5", 11: "lavfi.black_start=1.5", 12: "lavfi.black_end=2"}), "",
			track{to: 3, intervals: [][2]float64{{1, 2.5}}}, track{absent: true},
		},
		"an interval beyond the end of the track": {
			thirtyFrames(map[int]string{8: "lavfi.black_start=5", 9: "lavfi.black_end=6"}), "",
			track{to: 3}, track{absent: true},
		},
		"times out of range": {
			thirtyFrames(map[int]string{3: "lavfi.black_start=1e300", 4: "lavfi.black_start=nan", 5: "lavfi.black_start=", 6: "lavfi.black_start=-1e300"}), "",
			track{to: 3}, track{absent: true},
		},
	})
}

func TestUnusualFramesAreParsed(t *testing.T) {
	checkOutputs(t, map[string]outputCase{
		"a dropped frame before the last does not make the last one longer": {
			strings.ReplaceAll(thirtyFrames(nil), "frame:28 ", "dropped "), "",
			track{to: 3}, track{absent: true},
		},
		"frames without a time": {
			strings.ReplaceAll(thirtyFrames(nil), "pts_time:0\n", "pts_time:NOPTS\n"), "",
			track{from: 0.1, to: 3}, track{absent: true},
		},
		"lines that only look like frames": {
			thirtyFrames(nil) + "frame:1 pts:1 pts_time:7 or so\nframe:x pts:1 pts_time:8\nframe:-1 pts:1 pts_time:9\nframe:1 pts=1 pts_time:9\n", "",
			track{to: 3}, track{absent: true},
		},
		"frames out of order": {
			"frame:0 pts:1 pts_time:0.1\nframe:1 pts:0 pts_time:0\nframe:2 pts:3 pts_time:0.3\nframe:3 pts:2 pts_time:0.2\nframe:4 pts:4 pts_time:0.4\n", "",
			track{to: 0.6}, track{absent: true},
		},
		"a frame before the container's first timestamp, without sound": {
			"frame:0    pts:-9 pts_time:-0.1\nframe:1 pts:0 pts_time:0\n", "",
			track{to: 0.2}, track{absent: true},
		},
		"a frame before the container's first timestamp": {
			"frame:0    pts:-9 pts_time:-0.1\nlavfi.black_start=-0.1\nframe:1 pts:0 pts_time:0\n", printedFrames(2, 0.1, nil),
			track{to: 0.2, intervals: [][2]float64{{0, 0.2}}}, track{from: 0.1, to: 0.3},
		},
		"a single frame has the default duration": {
			"frame:0    pts:0 pts_time:0\nv=1\n", "",
			track{to: 1. / 30}, track{absent: true},
		},
		"a single frame of sound has the duration of an AAC frame": {
			"", "frame:0    pts:0 pts_time:0\na=1\n",
			track{absent: true}, track{to: 1024. / 48000},
		},
		"lines cut off and ended with a carriage return": {
			strings.ReplaceAll(thirtyFrames(nil), "\n", "\r\n") + "frame:30   pts:9", "",
			track{to: 3}, track{absent: true},
		},
		"a cover picture is not video": {
			"", "  Stream #0:0: Video: mjpeg, 300x300 (attached pic)\n" + printedFrames(2, 0.1, nil),
			track{absent: true}, track{to: 0.2},
		},
		"the command's outputs are not tracks of the segment": {
			"", "  Stream #0:1[0x101](und): Audio: aac\nStream mapping:\n  Stream #0:0: Video: wrapped_avframe\n" + printedFrames(2, 0.1, nil),
			track{absent: true}, track{to: 0.2},
		},
	})
}

func TestAFailureQuotesOneReadableLineOfTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		log    string
		detail string
		kind   watch.FailureKind
	}{
		"the last meaningful line": {
			"Input #0\n[mov @ 0x55b8a9] [x @ 0x1] moov atom not found\nConversion failed!\n\n", "moov atom not found", watch.FailureUndecodable},
		"the last error before other lines": {
			"Error opening decoder\nError while decoding stream #0:0: Invalid data\n  Metadata:\n    encoder : x\n", "Error while decoding stream #0:0: Invalid data", watch.FailureUndecodable},
		"an unknown codec":       {"Decoder (codec none) not found for input stream #0:0", "Decoder (codec none)", watch.FailureUndecodable},
		"an empty log":           {"", "ffmpeg did not say why", watch.FailureUndecodable},
		"unprintable characters": {"a\x00b\x1b[31mc\xff\xfe\n", "a b [31mc", watch.FailureUndecodable},
		"a long line":            {strings.Repeat("é", 101), strings.Repeat("é", 100) + "…", watch.FailureUndecodable},
		"a missing decoder":      {"Decoder (codec av1) not found for input stream #0:0", "this ffmpeg was built without a decoder", watch.FailureTool},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ffmpeg.Parse(nil, []byte(c.log))
			if f := checkFailure(t, err, c.kind); !strings.HasPrefix(f.Detail, c.detail) {
				t.Errorf("detail = %q, want %q", f.Detail, c.detail)
			}
		})
	}
}
