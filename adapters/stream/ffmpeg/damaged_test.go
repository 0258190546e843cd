package ffmpeg_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestATrackThatIsAnnouncedButCannotBeDecodedIsPresentAndEmpty(t *testing.T) {
	ts := scene{black: during(1, 9), silent: during(1, 9)}.make(t)
	for name, c := range map[string]struct {
		segment                []byte
		emptyVideo, emptyAudio bool
	}{
		"video without a packet": {withoutTrack(ts, pidVideo), true, false},
		"sound without a packet": {withoutTrack(ts, pidAudio), false, true},
		"video of random bytes":  {corruptTrack(ts, pidVideo), true, false},
		"sound of random bytes":  {corruptTrack(ts, pidAudio), false, true},
		"both tracks intact":     {ts, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			video, audio := analyse(t, c.segment)
			check := func(name string, track ffmpeg.TrackResult, empty bool) {
				if !track.Present || empty != (track.To == track.From) || !empty && (len(track.Found) != 1 || track.Found[0].To != track.To) {
					t.Errorf("%s is %+v, want empty: %v, else one interval to its end", name, track, empty)
				}
			}
			check("video", video, c.emptyVideo)
			check("audio", audio, c.emptyAudio)
		})
	}
}

// primingSeconds is priming in seconds.
const primingSeconds = float64(priming) / float64(time.Second)

// The muxer decides where a fragment's sound begins, so times are relative to the start of
// the track.
func TestAFragmentIsDecodedWithItsInitSection(t *testing.T) {
	for _, offset := range []int{0, 100_000, 200_000_000} { // beyond 33 bits of 90 kHz, and beyond 32 of milliseconds
		init, media := encodeFragments(t,
			"-f", "lavfi", "-i", "testsrc2=s=256x144:r=30:d=6", "-f", "lavfi", "-i", "sine=f=440:r=48000:d=6",
			"-vf", "drawbox=c=black:t=fill:enable='gte(t,2.99)'", "-af", "volume=0:enable='gte(t,3)'",
			"-c:v", "libx264", "-preset", "veryfast", "-g", "60", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ac", "2",
			"-output_ts_offset", fmt.Sprint(offset))
		v, a := analyse(t, slices.Concat(init, media[1]))
		if min(v.From, a.From) != 0 || len(v.Found) != 1 || v.Found[0].To != v.To || (v.To-v.Found[0].From-time.Second).Abs() > printPrecision {
			t.Errorf("from %d s on: video = %+v, audio from %v; want its last second black", offset, v, a.From)
		}
		if offset > 0 {
			continue
		}
		if (v.To-v.From-2*time.Second).Abs() > printPrecision || len(a.Found) != 1 || a.Found[0].To != a.To || (a.Found[0].From-v.Found[0].From).Abs() > 2*audioFrame {
			t.Errorf("video = %+v, audio = %+v, want 2 s of which the second is black and silent", v, a)
		}
		analyseFails(t, ffmpeg.New(realTool(t)), bytes.NewReader(media[1]), watch.FailureUndecodable)
	}
}

func TestATruncatedSegmentIsDecodedToItsEnd(t *testing.T) {
	ts := scene{silent: during(1, 9)}.make(t)
	video, audio := analyse(t, ts[:len(ts)/2+77])
	for name, track := range map[string]ffmpeg.TrackResult{"video": video, "audio": audio} {
		if !track.Present || track.To < 500*time.Millisecond || track.To > 2500*time.Millisecond {
			t.Errorf("%s ends at %v, want about half of 3 s", name, track.To)
		}
	}
	if len(audio.Found) != 1 || audio.Found[0].To != audio.To {
		t.Errorf("silence = %v, want one that ends at %v", audio.Found, audio.To)
	}
}

func TestVideoBeginsAtTheFirstKeyFrame(t *testing.T) {
	// A group of pictures is a second. The program tables, then everything from a quarter on, within a group.
	all := packets(scene{codec: []string{"-g", "30", "-bf", "2"}, black: during(2.5, 9)}.make(t))
	video, _ := analyse(t, slices.Concat(all[0], all[1], all[2], slices.Concat(all[len(all)/4:]...)))
	if video.From > time.Second+printPrecision {
		t.Errorf("the picture begins at %v, want at the next key frame", video.From)
	}
	if len(video.Found) != 1 || video.Found[0].To != video.To || (video.To-video.Found[0].From-500*time.Millisecond).Abs() > printPrecision {
		t.Errorf("black = %v, want one interval of 0.5 s until %v", video.Found, video.To)
	}
}

func TestBytesThatAreNotASegmentAreUndecodable(t *testing.T) {
	noise := make([]byte, 200<<10)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	ts := scene{}.make(t)
	for name, segment := range map[string][]byte{
		"nothing":                      {},
		"one byte":                     {0x47},
		"zeros":                        make([]byte, 200<<10),
		"random bytes":                 noise,
		"an HTML page":                 []byte("<!DOCTYPE html><html><body>Sorry, an error occurred.</body></html>"),
		"a playlist":                   []byte("#EXTM3U\n#EXTINF:4,\nfile:///etc/passwd\n"),
		"MPEG-TS packets of zeros":     bytes.Repeat(append([]byte{0x47}, make([]byte, 187)...), 1000),
		"null packets":                 bytes.Repeat(append([]byte{0x47, 0x1f, 0xff, 0x10}, make([]byte, 184)...), 1000),
		"tables that announce nothing": withoutTrack(withoutTrack(ts, pidVideo), pidAudio),
		"both tracks of random bytes":  corruptTrack(corruptTrack(ts, pidVideo), pidAudio),
		"an MP4 box of absurd length":  append([]byte{0xff, 0xff, 0xff, 0xff, 'm', 'o', 'o', 'v'}, noise...),
		"a truncated init section":     []byte("\x00\x00\x00\x18ftypiso5\x00\x00\x02\x00iso5"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, declared := range []string{"", "mpegts", "mp4"} {
				_, err := ffmpeg.New(realTool(t)).Analyse(t.Context(), watch.Segment{Container: declared}, watch.Look{}, bytes.NewReader(segment), settings)
				checkFailure(t, err, watch.FailureUndecodable)
				checkNoSubprocess(t)
			}
		})
	}
}

func TestAnErrorOfTheBodyIsReturnedUnchanged(t *testing.T) {
	ts := scene{}.make(t)
	broken := watch.NewFailure(watch.FailureTruncated, "the server announced more")
	for name, n := range map[string]int{"at once": 0, "halfway": len(ts) / 2, "after everything": len(ts)} {
		t.Run(name, func(t *testing.T) {
			body := io.MultiReader(bytes.NewReader(ts[:n]), iotest.ErrReader(broken))
			_, err := ffmpeg.New(realTool(t)).Analyse(t.Context(), watch.Segment{}, watch.Look{}, body, settings)
			if f := (*watch.Failure)(nil); !errors.As(err, &f) || f != broken {
				t.Errorf("error = %v, want the body's own", err)
			}
			checkNoSubprocess(t)
		})
	}
}

func analyseFails(t *testing.T, a *ffmpeg.Analyser, body io.Reader, kind watch.FailureKind) *watch.Failure {
	t.Helper()
	_, err := a.Analyse(t.Context(), watch.Segment{}, watch.Look{}, body, settings)
	checkNoSubprocess(t)
	return checkFailure(t, err, kind)
}

func checkFailure(t *testing.T, err error, kind watch.FailureKind) *watch.Failure {
	t.Helper()
	var f *watch.Failure
	if !errors.As(err, &f) || f.Kind != kind {
		t.Fatalf("error = %v, want a failure of kind %s", err, kind)
	}
	if f.Detail == "" || strings.ContainsAny(f.Detail, "\n\r\x00") {
		t.Errorf("detail = %q, want one line", f.Detail)
	}
	return f
}
