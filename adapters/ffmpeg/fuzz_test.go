package ffmpeg_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/adapters/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// telling shortens a recording to the lines with something to tell: frames with
// a detector's tag, and at most a screen of the log. With whole recordings the
// fuzzer spends its time shortening what it finds.
func telling(output []byte) []byte {
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
	for _, name := range []string{"black-and-silence", "changing-format", "dead-video", "dead-audio", "rubbish"} {
		for _, version := range versions {
			stdout, stderr := recorded(f, name, version)
			f.Add(telling(stdout), telling(stderr))
		}
	}
	f.Add([]byte(listed(3, 0.1, map[int]string{1: "lavfi.black_start=-5\nlavfi.black_end=99"})), []byte("frame:0 pts:0 pts_time:-1e6"))
	f.Fuzz(func(t *testing.T, stdout, stderr []byte) {
		video, audio, err := ffmpeg.Parse(stdout, stderr)
		if err != nil {
			var failure *watch.Failure
			if !errors.As(err, &failure) || failure.Detail == "" || len(failure.Detail) > 400 ||
				strings.ContainsAny(failure.Detail, "\r\n") || !utf8.ValidString(failure.Detail) {
				t.Fatalf("error = %q", err)
			}
			return
		}
		for name, track := range map[string]watch.Track{"video": video, "audio": audio} {
			if track.From < 0 || track.To < track.From || !track.Present && (track.To != 0 || track.Bad != nil) {
				t.Fatalf("%s = %+v", name, track)
			}
			at := track.From
			for i, b := range track.Bad {
				if b.From < at || b.To <= b.From || b.To > track.To || i > 0 && b.From == at {
					t.Fatalf("%s: stretch %d of %v is out of order or outside of %v–%v", name, i, track.Bad, track.From, track.To)
				}
				at = b.To
			}
		}
	})
}
