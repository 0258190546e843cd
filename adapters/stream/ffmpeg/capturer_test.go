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

func picture(t *testing.T, segment []byte, at time.Duration) image.Image {
	t.Helper()
	raw, err := newCapturer(t).Picture(t.Context(), of(segment), at)
	if err != nil {
		t.Fatal(err)
	}
	img, err := jpeg.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func meanLuma(img image.Image) float64 {
	sum, n := 0.0, 0
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			sum += float64(color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y)
			n++
		}
	}
	return sum / float64(n)
}

func TestAPictureIsOfItsMoment(t *testing.T) {
	segment := scene{black: [][2]float64{{1, 2}}}.make(t)
	for at, bright := range map[float64]bool{0: true, 0.7: true, 1.3: false, 2.5: true, 9: true} {
		if luma := meanLuma(picture(t, segment, seconds(at))); (luma > 60) != bright || !bright && luma > 3 {
			t.Errorf("the picture at %v s has luma %.0f", at, luma)
		}
	}
}

func TestAPictureAtTheEndOfASlowStreamIsTheLastOne(t *testing.T) {
	segment := scene{seconds: 2, rate: 4, black: [][2]float64{{0, 1.5}}}.make(t)
	if luma := meanLuma(picture(t, segment, seconds(1.9))); luma < 60 {
		t.Errorf("the picture at 1.9 s has luma %.0f", luma)
	}
}

func TestAPictureHasSquarePixelsAndAtMost640Columns(t *testing.T) {
	for name, c := range map[string]struct {
		size, filter  string
		width, height int
	}{
		"small":      {"256x144", "null", 256, 144},
		"large":      {"1280x720", "null", 640, 360},
		"upright":    {"1080x1920", "null", 404, 720},
		"anamorphic": {"720x576", "setsar=64/45", 640, 360},
	} {
		t.Run(name, func(t *testing.T) {
			segment := encodeVideo(t, "testsrc2=r=5:d=1:s="+c.size, "-vf", c.filter)
			if got := picture(t, segment, 0).Bounds(); got.Dx() != c.width || got.Dy() != c.height {
				t.Errorf("%v, want %dx%d", got, c.width, c.height)
			}
		})
	}
}

func TestNoPictureIsTakenOfSoundAlone(t *testing.T) {
	sound := encodeSound(t, 2)
	_, err := newCapturer(t).Picture(t.Context(), of(sound), 0)
	if f := (*watch.Failure)(nil); !errors.As(err, &f) {
		t.Errorf("the error is %v", err)
	}
}

func TestHostileMediaAreCapturedWithinTheLimitsOfAnalysis(t *testing.T) {
	large := encodeVideo(t, "testsrc2=r=1:d=1:s=7680x4320")
	for name, segment := range map[string][]byte{
		"nothing":            nil,
		"garbage":            bytes.Repeat([]byte("garbage"), 1000),
		"too many pixels":    large,
		"a damaged segment":  append(bytes.Clone(scene{}.make(t)[:5000]), bytes.Repeat([]byte{0x47}, 50000)...),
		"more than MaxInput": bytes.Repeat(scene{}.make(t), 3),
	} {
		t.Run(name, func(t *testing.T) {
			c := ffmpeg.NewCapturer(ffmpeg.Config{Files: []string{}, Path: ffmpegPath(t), MaxInput: int64(2 * len(scene{}.make(t))), Timeout: 10 * time.Second})
			if _, err := c.Picture(t.Context(), of(segment), time.Hour); err == nil && name != "a damaged segment" {
				t.Error("a picture was taken")
			}
			_, _ = c.Levels(t.Context(), of(segment))
			var clip bytes.Buffer
			if err := c.Remux(t.Context(), []collector.Media{of(segment)}, into(&clip), 20<<20); err == nil && name == "more than MaxInput" {
				t.Error("a clip was made")
			}
		})
	}
}

func TestLevelsShowWhereTheSoundWasSwitchedOff(t *testing.T) {
	segment := scene{seconds: 6, silent: [][2]float64{{2, 4}}}.make(t)
	levels, err := newCapturer(t).Levels(t.Context(), of(segment))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range levels {
		second := int(m.At.Seconds())
		silent := second == 2 || second == 3
		if m.Luma != nil || m.Level == nil || second != 2 && second != 4 && silent != (*m.Level < -50) {
			t.Errorf("at %v: %v", m.At, *m.Level)
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
