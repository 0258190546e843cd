package ffmpeg_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestASegmentWithoutEndIsTooLarge(t *testing.T) {
	ts := scene{}.make(t)
	null := append([]byte{0x47, 0x1f, 0xff, 0x10}, make([]byte, 184)...)
	for name, c := range map[string]struct {
		body  io.Reader
		limit int64
	}{
		"pictures without end":             {&endless{ts}, 1 << 20},
		"200 MB of filler after a segment": {io.MultiReader(bytes.NewReader(ts), io.LimitReader(&endless{null}, 200<<20)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := ffmpeg.New(ffmpeg.Config{Files: []string{}, Path: ffmpegPath(t), Timeout: patience, MaxInput: c.limit})
			analyseFails(t, a, c.body, watch.FailureTooLarge)
		})
	}
}

// endless yields its bytes again and again.
type endless struct{ bytes []byte }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.bytes)
	e.bytes = append(e.bytes[n:len(e.bytes):len(e.bytes)], e.bytes[:n]...)
	return n, nil
}

func TestTruncatedOutputIsUndecodable(t *testing.T) {
	a := ffmpeg.New(ffmpeg.Config{Files: []string{}, Path: ffmpegPath(t), Timeout: patience, MaxOutput: 4 << 10})
	analyseFails(t, a, bytes.NewReader(scene{}.make(t)), watch.FailureUndecodable)
}

func TestASegmentAsLargeAsTheLimitIsAnalysed(t *testing.T) {
	ts := scene{}.make(t)
	size := int64(len(ts))
	a := ffmpeg.New(ffmpeg.Config{Files: []string{}, Path: ffmpegPath(t), Timeout: patience, MaxInput: size})
	if _, err := a.Analyse(t.Context(), watch.Segment{}, watch.Calm{}, bytes.NewReader(ts), settings); err != nil {
		t.Errorf("Analyse: %v", err)
	}
	t.Run("but not one a byte larger", func(t *testing.T) {
		analyseFails(t, ffmpeg.New(ffmpeg.Config{Files: []string{}, Path: ffmpegPath(t), Timeout: patience, MaxInput: size - 1}), bytes.NewReader(ts), watch.FailureTooLarge)
	})
}

func TestNegativeLimitsMeanTheDefaults(t *testing.T) {
	a := ffmpeg.New(ffmpeg.Config{Files: []string{}, Path: ffmpegPath(t), Timeout: -1, MaxInput: -1, MaxOutput: -1})
	if _, err := a.Analyse(t.Context(), watch.Segment{}, watch.Calm{}, bytes.NewReader(scene{}.make(t)), settings); err != nil {
		t.Errorf("Analyse: %v", err)
	}
}

func TestTheConfiguredLimitsApplyToFFmpeg(t *testing.T) {
	// Data in kB, CPU time in s, open files, file size and core size in blocks; each soft and hard.
	path := fakeFFmpeg(t, "head -c 1 >/dev/null; for l in d t n f c; do ulimit -S$l; ulimit -H$l; done; cat >/dev/null")
	for name, c := range map[string]struct {
		config ffmpeg.Config
		want   string
	}{
		"defaults":   {ffmpeg.Config{}, "196608 196608 15 16 64 64 0 0 0 0"},
		"configured": {ffmpeg.Config{MaxMemory: 100 << 20, MaxCPU: 1500 * time.Millisecond}, "36864 36864 2 3 64 64 0 0 0 0"},
		"minimum":    {ffmpeg.Config{MaxMemory: 1, MaxCPU: 1}, "16384 16384 1 2 64 64 0 0 0 0"},
		"negative":   {ffmpeg.Config{MaxMemory: -1, MaxCPU: -1}, "196608 196608 15 16 64 64 0 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Path = path
			res, err := ffmpeg.Run(t.Context(), ffmpeg.New(c.config), watch.Segment{}, bytes.NewReader(scene{}.make(t)), settings)
			if got := strings.Join(strings.Fields(string(res.Stdout)), " "); err != nil || got != c.want {
				t.Errorf("the limits are %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// large returns a large moving picture with a tone, 30 frames a second.
func large(t *testing.T, size, seconds string, codec ...string) []byte {
	t.Helper()
	return encode(t, append([]string{"-f", "lavfi", "-i", "testsrc2=s=" + size + ":r=30:d=" + seconds, "-f", "lavfi", "-i", "sine=f=440:r=48000:d=" + seconds,
		"-c:a", "aac", "-pix_fmt", "yuv420p"}, append(codec, "-f", "mpegts")...)...)
}

// sixteenReferences returns 30 frames of H.264, whose decoder keeps as many pictures as
// the codec allows.
func sixteenReferences(t *testing.T) []byte {
	t.Helper()
	return large(t, "1920x1080", "1", "-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "ref=16:bframes=8", "-level", "6.2")
}

// Config.MaxMemory documents the memory of these.
func TestTheDefaultMemoryIsEnoughForLiveStreams(t *testing.T) {
	for name, c := range map[string]struct {
		segment []byte
		frames  int
	}{
		"H.264 144p":                     {scene{}.make(t), 90},
		"H.264 1080p with 16 references": {sixteenReferences(t), 30},
		"HEVC 1080p with 10 bits":        {large(t, "1920x1080", "0.5", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p10le"), 15},
		"H.264 2160p":                    {large(t, "3840x2160", "0.5", "-c:v", "libx264", "-preset", "veryfast", "-threads", "1", "-x264-params", "rc-lookahead=0"), 15},
	} {
		t.Run(name, func(t *testing.T) {
			resident := samplePeakMemory(t)
			res, err := ffmpeg.Run(t.Context(), ffmpeg.New(realTool(t)), watch.Segment{}, bytes.NewReader(c.segment), settings)
			t.Logf("%d MB, %v of CPU", resident()>>20, res.CPUTime)
			if n := bytes.Count(res.Stdout, []byte("v=1\n")); err != nil || n != c.frames {
				t.Errorf("%d frames of %d, %v", n, c.frames, err)
			}
		})
	}
}

func TestTooLittleMemoryIsAToolFailure(t *testing.T) {
	segment := sixteenReferences(t)
	// In MB: with 1 and 90 the program cannot be loaded, with 140 the segment nearly fits.
	// From about 104 on the sound and some pictures are decoded.
	for _, memory := range []int64{1, 90, 100, 104, 108, 112, 120, 130, 140} {
		a := ffmpeg.New(ffmpeg.Config{Files: []string{}, Path: ffmpegPath(t), Timeout: patience, MaxMemory: memory << 20})
		f := analyseFails(t, a, bytes.NewReader(segment), watch.FailureTool)
		if !strings.Contains(f.Detail, "of memory") {
			t.Errorf("with %d MB: %v", memory, f)
		}
	}
}

// There is not enough memory for 16 reference frames of this size. The decoder does not
// say so: its errors are those of a broken stream.
func TestASilentShortageOfMemoryIsAToolFailure(t *testing.T) {
	segment := hostilePictures["H.264 of 4096x2304 with 16 references"](t)
	f := analyseFails(t, ffmpeg.New(realTool(t)), bytes.NewReader(segment), watch.FailureTool)
	if !strings.Contains(f.Detail, "256 MiB of memory") {
		t.Errorf("got %v", f)
	}
	t.Run("with more memory it is decoded", func(t *testing.T) {
		a := ffmpeg.New(ffmpeg.Config{Files: []string{}, Path: ffmpegPath(t), Timeout: patience, MaxMemory: 512 << 20})
		if _, err := a.Analyse(t.Context(), watch.Segment{}, watch.Calm{}, bytes.NewReader(segment), settings); err != nil {
			t.Errorf("Analyse: %v", err)
		}
	})
}

func TestAPictureThatIsTooLargeIsAToolFailure(t *testing.T) {
	for _, name := range []string{"AV1 of 4096x4096", "VP9 of 448x65535"} {
		f := analyseFails(t, ffmpeg.New(realTool(t)), bytes.NewReader(hostilePictures[name](t)), watch.FailureTool)
		if !strings.Contains(f.Detail, "more than the 10066329 pixels") {
			t.Errorf("%s: %v", name, f)
		}
	}
	small := ffmpeg.Config{Files: []string{}, Path: ffmpegPath(t), Timeout: patience, MaxMemory: 128 << 20} // for 3.3 million pixels
	f := analyseFails(t, ffmpeg.New(small), bytes.NewReader(encode(t, "-f", "lavfi", "-i", "color=s=3840x2160:r=10:d=0.5",
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-f", "mpegts")), watch.FailureTool)
	if !strings.Contains(f.Detail, "pixels") {
		t.Errorf("H.264: %v", f)
	}
}

func TestTooLittleCPUTimeIsAToolFailure(t *testing.T) {
	segment := bytes.Repeat(scene{}.make(t), 200)
	f := analyseFails(t, ffmpeg.New(ffmpeg.Config{Files: []string{}, Path: ffmpegPath(t), Timeout: patience, MaxCPU: time.Second}), bytes.NewReader(segment), watch.FailureTool)
	if !strings.Contains(f.Detail, "the 1s of CPU time") {
		t.Errorf("got %v", f)
	}
	for name, body := range map[string]string{
		"ends at SIGXCPU": "while :; do :; done",
		"ignores SIGXCPU": "trap '' XCPU; while :; do :; done",
	} {
		t.Run(name, func(t *testing.T) {
			f := analyseFails(t, ffmpeg.New(ffmpeg.Config{Path: fakeFFmpeg(t, body), Timeout: patience, MaxCPU: time.Second}), bytes.NewReader(scene{}.make(t)), watch.FailureTool)
			if !strings.Contains(f.Detail, "the 1s of CPU time") {
				t.Errorf("got %v", f)
			}
		})
	}
}
