package ffmpeg_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

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
		known := format == "mpegts" || format == "mov" || format == "aac" || format == "mp3"
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
