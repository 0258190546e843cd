package ffmpeg_test

import (
	"bytes"
	"errors"
	"image/jpeg"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAThumbnailFitsInto256x144AndKeepsItsShape(t *testing.T) {
	for name, c := range map[string]struct {
		size, filter  string
		width, height int
	}{
		"small":       {"192x108", "null", 192, 108},
		"large":       {"1280x720", "null", 256, 144},
		"upright":     {"720x1280", "null", 80, 144},
		"anamorphic":  {"720x576", "setsar=64/45", 256, 144},
		"noise":       {"640x360", "noise=alls=100:allf=t", 256, 144},
		"very narrow": {"4000x16", "null", 256, 2},
	} {
		t.Run(name, func(t *testing.T) {
			segment := encodeVideo(t, "testsrc2=r=5:d=1:s="+c.size, "-vf", c.filter)
			raw, err := newCapturer(t).Thumbnail(t.Context(), watch.Segment{}, bytes.NewReader(segment))
			if err != nil {
				t.Fatal(err)
			}
			size, err := jpeg.DecodeConfig(bytes.NewReader(raw))
			if err != nil || size.Width != c.width || size.Height != c.height || len(raw) > 32<<10 {
				t.Errorf("%dx%d in %d bytes (%v), want %dx%d in at most 32 KiB", size.Width, size.Height, len(raw), err, c.width, c.height)
			}
		})
	}
}

func TestAThumbnailIsMadeOfTheBeginningOfASegment(t *testing.T) {
	ts := scene{}.make(t)
	init, media := encodeFragments(t, "-f", "lavfi", "-i", "testsrc2=r=30:d=4:s=256x144", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "60")
	for name, segment := range map[string][]byte{"MPEG-TS": ts, "fragmented MP4": append(bytes.Clone(init), media[0]...)} {
		raw, err := newCapturer(t).Thumbnail(t.Context(), watch.Segment{}, bytes.NewReader(segment[:len(segment)/2]))
		if err != nil || len(raw) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(raw), err)
		}
	}
}

func TestHostileMediaGiveNoThumbnail(t *testing.T) {
	large := encodeVideo(t, "testsrc2=r=1:d=1:s=7680x4320")
	sound := encodeSound(t, 2)
	for name, segment := range map[string][]byte{"nothing": nil, "garbage": bytes.Repeat([]byte("garbage"), 1000), "too many pixels": large, "sound alone": sound} {
		t.Run(name, func(t *testing.T) {
			c := ffmpeg.NewCapturer(ffmpeg.Config{Path: ffmpegPath(t), Timeout: 10 * time.Second})
			raw, err := c.Thumbnail(t.Context(), watch.Segment{}, bytes.NewReader(segment))
			if f := (*watch.Failure)(nil); !errors.As(err, &f) {
				t.Errorf("%d bytes, %v", len(raw), err)
			}
		})
	}
}

func BenchmarkThumbnail(b *testing.B) {
	segment := encodeVideo(b, "testsrc2=r=30:d=4:s=256x144")
	c := ffmpeg.NewCapturer(ffmpeg.Config{Path: ffmpegPath(b)})
	for b.Loop() {
		if _, err := c.Thumbnail(b.Context(), watch.Segment{}, bytes.NewReader(segment)); err != nil {
			b.Fatal(err)
		}
	}
}
