package ffmpeg_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func newCapturer(t *testing.T) *ffmpeg.Capturer {
	t.Helper()
	return ffmpeg.NewCapturer(realTool(t))
}

// of returns a medium with these bytes.
func of(b []byte) collector.Media {
	return collector.Media{Open: func() io.Reader { return bytes.NewReader(b) }}
}

// into returns a writer that is never empty again.
func into(w io.Writer) func() (io.Writer, error) {
	return func() (io.Writer, error) { return w, nil }
}

// decodeJPEG decodes a picture that has been taken.
func decodeJPEG(t *testing.T, raw []byte, err error) image.Image {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	img, err := jpeg.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestAPictureIsOfItsMoment(t *testing.T) {
	segment := scene{black: during(1, 2)}.make(t)
	slow := scene{seconds: 2, rate: 4, black: during(0, 1.5)}.make(t)
	for _, c := range []struct {
		segment []byte
		at      float64
		bright  bool
	}{
		{segment, 0, true}, {segment, 0.7, true}, {segment, 1.3, false}, {segment, 2.5, true}, {segment, 9, true},
		{slow, 1.9, true}, // the last one
	} {
		raw, err := newCapturer(t).Picture(t.Context(), of(c.segment), seconds(c.at))
		img := decodeJPEG(t, raw, err)
		sum := 0
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				sum += int(color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y)
			}
		}
		if luma := sum / (img.Bounds().Dx() * img.Bounds().Dy()); (luma > 60) != c.bright || !c.bright && luma > 3 {
			t.Errorf("the picture at %v s has luma %d", c.at, luma)
		}
	}
}

func TestAPictureHasSquarePixelsAndFits(t *testing.T) {
	for name, c := range map[string]struct {
		size, filter       string
		picture, thumbnail image.Point
	}{
		"small":       {"192x108", "null", image.Pt(192, 108), image.Pt(192, 108)},
		"large":       {"1280x720", "null", image.Pt(640, 360), image.Pt(256, 144)},
		"upright":     {"1080x1920", "null", image.Pt(404, 720), image.Pt(80, 144)},
		"anamorphic":  {"720x576", "setsar=64/45", image.Pt(640, 360), image.Pt(256, 144)},
		"noise":       {"640x360", "noise=alls=100:allf=t", image.Pt(640, 360), image.Pt(256, 144)},
		"very narrow": {"4000x16", "null", image.Pt(640, 2), image.Pt(256, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			segment := encodeVideo(t, "testsrc2=r=5:d=1:s="+c.size, "-vf", c.filter)
			raw, err := newCapturer(t).Picture(t.Context(), of(segment), 0)
			if got := decodeJPEG(t, raw, err).Bounds().Size(); got != c.picture {
				t.Errorf("the picture has %v, want %v", got, c.picture)
			}
			raw, err = newCapturer(t).Thumbnail(t.Context(), watch.Segment{}, bytes.NewReader(segment))
			if got := decodeJPEG(t, raw, err).Bounds().Size(); got != c.thumbnail || len(raw) > 32<<10 {
				t.Errorf("the thumbnail has %v in %d bytes, want %v in at most 32 KiB", got, len(raw), c.thumbnail)
			}
		})
	}
}

func TestAThumbnailIsMadeOfTheBeginningOfASegment(t *testing.T) {
	init, media := encodeFragments(t, "-f", "lavfi", "-i", "testsrc2=r=30:d=4:s=256x144", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "60")
	for name, segment := range map[string][]byte{"MPEG-TS": scene{}.make(t), "fragmented MP4": append(bytes.Clone(init), media[0]...)} {
		raw, err := newCapturer(t).Thumbnail(t.Context(), watch.Segment{}, bytes.NewReader(segment[:len(segment)/2]))
		if err != nil || len(raw) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(raw), err)
		}
	}
}

func TestHostileMediaAreCapturedWithinTheLimitsOfAnalysis(t *testing.T) {
	usual := scene{}.make(t)
	for name, c := range map[string]struct {
		segment []byte
		failure bool // there is no picture, and the failure is one of the segment
		tooLong bool // no clip is made, but a thumbnail of its beginning may be, before more of it is read
	}{
		"nothing":            {nil, true, false},
		"garbage":            {bytes.Repeat([]byte("garbage"), 1000), true, false},
		"sound alone":        {encodeSound(t, 2), true, false},
		"too many pixels":    {encodeVideo(t, "testsrc2=r=1:d=1:s=7680x4320"), true, false},
		"a damaged segment":  {slices.Concat(usual[:5000], bytes.Repeat([]byte{0x47}, 50000)), false, false},
		"more than MaxInput": {bytes.Repeat(usual, 3), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			capturer := ffmpeg.NewCapturer(ffmpeg.Config{Files: []string{}, Path: ffmpegPath(t), MaxInput: int64(2 * len(usual)), Timeout: 10 * time.Second})
			_, pictureErr := capturer.Picture(t.Context(), of(c.segment), time.Hour)
			_, thumbnailErr := capturer.Thumbnail(t.Context(), watch.Segment{}, bytes.NewReader(c.segment))
			for what, err := range map[string]error{"picture": pictureErr, "thumbnail": thumbnailErr} {
				may := c.tooLong && what == "thumbnail" && err == nil
				if _, failed := errors.AsType[*watch.Failure](err); c.failure && !failed && !may {
					t.Errorf("%s: got %v, want a failure", what, err)
				}
			}
			_, _ = capturer.Levels(t.Context(), of(c.segment))
			var clip bytes.Buffer
			if err := capturer.Remux(t.Context(), []collector.Media{of(c.segment)}, into(&clip), 20<<20); err == nil && c.tooLong {
				t.Error("a clip was made")
			}
		})
	}
}

// A person who reads the plot of the levels finds when the sound was switched off and on.
func TestLevelsShowWhereTheSoundWasSwitchedOff(t *testing.T) { // section 16.2
	const off, on = 2.3, 4.6
	segment := scene{seconds: 6, silent: during(off, on)}.make(t)
	levels, err := newCapturer(t).Levels(t.Context(), of(segment))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range levels {
		at := m.At.Seconds()
		if m.Luma != nil || m.Level == nil {
			t.Fatalf("at %v s: %+v", at, m)
		}
		surely, perhaps := at >= off && at < on-1, at > off-1 && at < on
		if silent := *m.Level < -50; surely && !silent || silent && !perhaps {
			t.Errorf("at %v s: %v dBFS", at, *m.Level)
		}
	}
	if len(levels) < 6 {
		t.Errorf("%d levels of six seconds", len(levels))
	}
}

// streams returns what ffprobe says of a clip, a line for each stream.
func streams(t *testing.T, clip []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.mp4")
	if err := os.WriteFile(path, clip, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=codec_name,nb_read_frames", "-of", "csv=p=0", path).CombinedOutput()
	if err != nil {
		t.Fatalf("ffprobe: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestSegmentsBecomeOneClip(t *testing.T) {
	ts := encode(t, "-f", "lavfi", "-i", "testsrc2=r=30:d=4", "-f", "lavfi", "-i", "sine=r=48000:d=4", "-c:v", "libx264", "-preset", "ultrafast",
		"-pix_fmt", "yuv420p", "-g", "30", "-c:a", "aac", "-f", "mpegts")
	init, fragments := encodeFragments(t, "-f", "lavfi", "-i", "testsrc2=r=30:d=4", "-f", "lavfi", "-i", "sine=r=48000:d=4",
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "60", "-c:a", "aac")
	var mp4 []byte
	for _, f := range fragments { // each segment is fetched with its init section
		mp4 = append(append(mp4, init...), f...)
	}
	mp2 := encode(t, "-f", "lavfi", "-i", "testsrc2=r=30:d=4", "-f", "lavfi", "-i", "sine=r=48000:d=4", "-c:v", "libx264", "-preset", "ultrafast",
		"-pix_fmt", "yuv420p", "-c:a", "mp2", "-f", "mpegts")
	picture := encodeVideo(t, "testsrc2=r=30:d=4")
	sound := encodeSound(t, 4)
	for name, media := range map[string][][]byte{"MPEG-TS": {ts}, "MPEG-TS with MP2 sound": {mp2}, "MP4": {mp4}, "picture and sound apart": {picture, sound}} {
		t.Run(name, func(t *testing.T) {
			var in []collector.Media
			for _, b := range media {
				in = append(in, of(b))
			}
			var clip bytes.Buffer
			if err := newCapturer(t).Remux(t.Context(), in, into(&clip), 20<<20); err != nil {
				t.Fatal(err)
			}
			got := streams(t, clip.Bytes())
			if !regexp.MustCompile(`^h264,120\n(aac|mp3),1[6-9]\d$`).MatchString(got) {
				t.Errorf("ffprobe says\n%s", got)
			}
		})
	}
}

func TestAClipIsLimited(t *testing.T) {
	segment := scene{}.make(t)
	var clip bytes.Buffer
	err := newCapturer(t).Remux(t.Context(), []collector.Media{of(segment)}, into(&clip), 10_000)
	if !errors.Is(err, ffmpeg.ErrClipTooLarge) || clip.Len() > 10_000 {
		t.Errorf("%d bytes, %v", clip.Len(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newCapturer(t).Remux(ctx, []collector.Media{of(segment)}, into(io.Discard), 20<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("after the cancellation: %v", err)
	}
}
