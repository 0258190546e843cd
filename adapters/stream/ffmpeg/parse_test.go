package ffmpeg_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// versions lists the ffmpeg versions whose real output is in testdata. The oldest
// supported one decodes both tracks in one thread; 9.0 has a thread for each.
var versions = []string{"5.1", "9.0"}

func TestRecordedOutputOfEveryVersionIsParsed(t *testing.T) {
	const p = primingSeconds
	for name, c := range map[string]struct{ video, audio track }{
		// 4 s from 95440 s on, where 33-bit timestamps wrap. Black: two frames at 1 s,
		// 2 s to 2.5 s, and the last two frames. Silent: 0.5 s to 0.6 s, 1 s to 1.7 s, and
		// the last 0.12 s.
		"black-and-silence": {
			track{from: p, to: 4 + p, intervals: during(2+p, 2.5+p, 3.954667, 4+p)},
			track{to: 4.032, intervals: during(0.533458, 0.639875, 1.024125, 1.727958, 3.904062, 4.032)},
		},
		// 256x144 and stereo become 320x180 and 5.1 at 2 s, black and silent.
		"changing-format": {
			track{from: p, to: 4 + p, intervals: during(1.554667, 2.521333)}, track{to: 4.026667, intervals: during(1.536021, 4.026667)},
		},
		"dead-video": {track{}, track{to: 5.034667}},
		"dead-audio": {track{to: 5}, track{}},
	} {
		for _, version := range versions {
			t.Run(name+" by ffmpeg "+version, func(t *testing.T) {
				stdout, stderr := recorded(t, name, version)
				checkOutput(t, stdout, stderr, c.video, c.audio, printPrecision)
			})
		}
	}
	for _, version := range versions {
		t.Run("garbage by ffmpeg "+version, func(t *testing.T) {
			_, _, err := ffmpeg.Parse(recorded(t, "garbage", version))
			if f := checkFailure(t, err, watch.FailureUndecodable); strings.Contains(f.Detail, "@ 0x") {
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

func checkOutput(t *testing.T, stdout, stderr []byte, video, audio track, tolerance time.Duration) {
	t.Helper()
	gotVideo, gotAudio, err := ffmpeg.Parse(stdout, stderr)
	if err != nil {
		t.Fatal(err)
	}
	compareTrack(t, "video", gotVideo, video, tolerance)
	compareTrack(t, "audio", gotAudio, audio, tolerance)
}

// tagged returns the output for 3 s of frames, with the tags of some frames.
func tagged(tags map[int]string) string { return printedFrames(30, 0.1, tags) }

func TestUnusualIntervalsAreParsed(t *testing.T) {
	for name, c := range map[string]struct {
		tags map[int]string
		want [][2]float64
	}{
		"one that begins and ends on one long frame":   {map[int]string{7: "start=0.55 end=0.71"}, during(0.55, 0.71)},
		"one ends, another begins on one long frame":   {map[int]string{2: "start=0.1", 7: "end=0.71 start=0.71"}, during(0.1, 3)},
		"one that starts before the track":             {map[int]string{2: "start=-0.02"}, during(0, 3)},
		"an end without a beginning":                   {map[int]string{9: "end=0.9"}, nil},
		"one of 0.1 s that six digits make 3 µs short": {map[int]string{9: "start=0.921333", 10: "end=1.02133"}, during(0.921333, 1.02133)},
		"one whose start is printed twice":             {map[int]string{5: "start=0.5", 9: "start=0.9"}, during(0.5, 3)},
		"out of order":                                 {map[int]string{8: "start=2", 9: "end=2.5", 11: "start=0.5", 12: "end=1"}, during(0.5, 1, 2, 2.5)},
		"one within another":                           {map[int]string{8: "start=1", 9: "end=2.5", 11: "start=1.5", 12: "end=2"}, during(1, 2.5)},
		"one beyond the end of the track":              {map[int]string{8: "start=5", 9: "end=6"}, nil},
		"times out of range":                           {map[int]string{3: "start=1e300", 4: "start=nan", 5: "start=", 6: "start=-1e300"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(detector string) []byte {
				key := strings.NewReplacer(" ", "\n", "start=", detector+"_start=", "end=", detector+"_end=")
				tags := map[int]string{}
				for frame, tag := range c.tags {
					tags[frame] = key.Replace(tag)
				}
				return []byte(tagged(tags))
			}
			want := track{to: 3, intervals: c.want}
			checkOutput(t, of("lavfi.black"), of("lavfi.silence"), want, want, time.Microsecond)
		})
	}
}

func TestUnusualFramesAreParsed(t *testing.T) {
	frames := tagged(nil)
	const black = "lavfi.black_start=0.5"
	for name, c := range map[string]struct {
		stdout, stderr string
		video, audio   track
	}{
		"log lines of other threads before listed ones": {"", strings.ReplaceAll(tagged(map[int]string{5: "lavfi.silence_start=0.5"}), "frame:", "[h264 @ 0x55] odd frame: frame:"), absentTrack, track{to: 3, intervals: during(0.5, 3)}},
		"a change of format on a frame without a time":  {tagged(map[int]string{5: black}) + "frame:0 pts:NOPTS pts_time:NOPTS\n", "", track{to: 3, intervals: during(0.5, 3)}, absentTrack},
		"a frame before the last was dropped":           {strings.ReplaceAll(frames, "frame:28 ", "dropped "), "", track{to: 3}, absentTrack},
		"frames without a time":                         {strings.ReplaceAll(frames, "pts_time:0\n", "pts_time:NOPTS\n"), "", track{from: 0.1, to: 3}, absentTrack},
		"lines that only look like frames":              {frames + "frame:1 pts:1 pts_time:7 or so\nframe:x pts:1 pts_time:8\nframe:-1 pts:1 pts_time:9\nframe:1 pts=1 pts_time:9\n", "", track{to: 3}, absentTrack},
		"frames out of order": {
			"frame:0 pts:1 pts_time:0.1\nframe:1 pts:0 pts_time:0\nframe:2 pts:3 pts_time:0.3\nframe:3 pts:2 pts_time:0.2\nframe:4 pts:4 pts_time:0.4\n", "",
			track{to: 0.6}, absentTrack,
		},
		"a picture before the first timestamp, without sound": {"frame:0    pts:-9 pts_time:-0.1\nframe:1 pts:0 pts_time:0\n", "", track{to: 0.2}, absentTrack},
		"a picture before the first timestamp": {
			"frame:0    pts:-9 pts_time:-0.1\nlavfi.black_start=-0.1\nframe:1 pts:0 pts_time:0\n", printedFrames(2, 0.1, nil),
			track{to: 0.2, intervals: during(0, 0.2)}, track{from: 0.1, to: 0.3},
		},
		"a single picture has the default duration":  {"frame:0    pts:0 pts_time:0\nv=1\n", "", track{to: 1. / 30}, absentTrack},
		"a single frame of sound has that of AAC":    {"", "frame:0    pts:0 pts_time:0\na=1\n", absentTrack, track{to: 1024. / 48000}},
		"lines cut off, ended by carriage returns":   {strings.ReplaceAll(frames, "\n", "\r\n") + "frame:30   pts:9", "", track{to: 3}, absentTrack},
		"a cover picture is not video":               {"", "  Stream #0:0: Video: mjpeg, 300x300 (attached pic)\n" + printedFrames(2, 0.1, nil), absentTrack, track{to: 0.2}},
		"the command's outputs are not input tracks": {"", "  Stream #0:1[0x101](und): Audio: aac\nStream mapping:\n  Stream #0:0: Video: wrapped_avframe\n" + printedFrames(2, 0.1, nil), absentTrack, track{to: 0.2}},
	} {
		t.Run(name, func(t *testing.T) {
			checkOutput(t, []byte(c.stdout), []byte(c.stderr), c.video, c.audio, time.Microsecond)
		})
	}
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

// interestingLines shortens a recording to 24 lines: frames with a detector's tag,
// streams and errors. With whole recordings the fuzzer spends its time minimizing.
func interestingLines(output []byte) []byte {
	var kept []string
	var frame string
	for line := range strings.Lines(string(output)) {
		switch {
		case strings.HasPrefix(line, "frame:"):
			frame = line
		case strings.HasPrefix(line, "lavfi."):
			kept = append(kept, frame, line)
			frame = ""
		case strings.Contains(line, "Stream ") || strings.Contains(line, "rror"):
			kept = append(kept, line)
		}
	}
	return []byte(strings.Join(kept[:min(len(kept), 24)], ""))
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"black-and-silence", "changing-format", "dead-video", "dead-audio", "garbage"} {
		for _, version := range versions {
			stdout, stderr := recorded(f, name, version)
			f.Add(interestingLines(stdout), interestingLines(stderr))
		}
	}
	f.Add([]byte(printedFrames(3, 0.1, map[int]string{1: "lavfi.black_start=-5\nlavfi.black_end=99"})), []byte("frame:0 pts:0 pts_time:-1e6"))
	f.Fuzz(func(t *testing.T, stdout, stderr []byte) {
		video, audio, err := ffmpeg.Parse(bytes.Clone(stdout), bytes.Clone(stderr))
		crlf := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) }
		if v, a, e := ffmpeg.Parse(crlf(stdout), crlf(stderr)); !reflect.DeepEqual(v, video) || !reflect.DeepEqual(a, audio) || fmt.Sprint(e) != fmt.Sprint(err) {
			t.Fatalf("with carriage returns: %+v, %+v, %v; before %+v, %+v, %v", v, a, e, video, audio, err)
		}
		if err != nil {
			var failure *watch.Failure
			if !errors.As(err, &failure) || failure.Detail == "" || len(failure.Detail) > 400 ||
				failure.Kind != watch.FailureTool && failure.Kind != watch.FailureUndecodable ||
				strings.ContainsAny(failure.Detail, "\r\n") || !utf8.ValidString(failure.Detail) {
				t.Fatalf("error = %q", err)
			}
			return
		}
		// Without a failure some frame was decoded.
		if video.To == video.From && audio.To == audio.From {
			t.Fatalf("video = %+v, audio = %+v", video, audio)
		}
		checkTrack(t, "video", video, 99*time.Millisecond)
		checkTrack(t, "audio", audio, 0)
	})
}

// checkTrack checks the order and the bounds of a track's intervals. Those in the middle
// last at least minDuration.
func checkTrack(t *testing.T, name string, track ffmpeg.TrackResult, minDuration time.Duration) {
	t.Helper()
	const maxEnd = 4e6 * time.Second // twice the largest accepted time, on either side
	if track.From < 0 || track.To < track.From || track.To > maxEnd || !track.Present && (track.To != 0 || track.Found != nil) {
		t.Fatalf("%s = %+v", name, track)
	}
	at := track.From
	for i, b := range track.Found {
		if b.From < at || b.To <= b.From || b.To > track.To || i > 0 && b.From <= at {
			t.Fatalf("%s: interval %d of %v is out of order or outside of %v–%v", name, i, track.Found, track.From, track.To)
		}
		if b.To-b.From < minDuration && b.From > track.From && b.To < track.To {
			t.Fatalf("%s: interval %d of %v is too short", name, i, track.Found)
		}
		at = b.To
	}
}

// Every segment gets a known demuxer or a failure.
func FuzzContainer(f *testing.F) {
	f.Add(bytes.Repeat(append([]byte{0x47}, make([]byte, 187)...), 4), "mp4")
	f.Add([]byte("\x00\x00\x00\x18ftypiso5\x00\x00\x02\x00iso5"), "")
	f.Add([]byte("ID3\x04\x00\x00\x00\x00\x00\x05hello\xff\xf1\x4c\x80\x00\xff\xfc"), "aac")
	f.Add([]byte("\xff\xfb\x90\x00 and so on"), "mp3")
	f.Fuzz(func(t *testing.T, head []byte, declared string) {
		format, err := ffmpeg.DetectContainer(head, declared)
		known := format == "mpegts" || format == "mov" || format == "aac" || format == "mp3" || format == "ogg"
		if known != (err == nil) {
			t.Fatalf("container = %q, %v", format, err)
		}
		if other, _ := ffmpeg.DetectContainer(head, ""); other != "" && other != format {
			t.Fatalf("container = %q, but %q when %q is declared", other, format, declared)
		}
		if err != nil {
			checkFailure(t, err, watch.FailureUndecodable)
		}
	})
}
