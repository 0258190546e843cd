package ffmpeg_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// endless yields its bytes again and again.
type endless struct{ bytes []byte }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.bytes)
	e.bytes = append(e.bytes[n:len(e.bytes):len(e.bytes)], e.bytes[:n]...)
	return n, nil
}

// limitCase is a segment that is analysed with these limits.
type limitCase struct {
	limits  ffmpeg.Config
	segment io.Reader
	kind    watch.FailureKind // empty: it succeeds
	detail  string            // a part of the failure's
}

func TestALimitThatIsReachedHasItsFailure(t *testing.T) {
	ts := scene{}.make(t)
	size := int64(len(ts))
	null := append([]byte{0x47, 0x1f, 0xff, 0x10}, make([]byte, 184)...)
	references, large := sixteenReferences(t), tooManyReferences(t)
	of := func(b []byte) io.Reader { return bytes.NewReader(b) }
	const cpu = "the 1s of CPU time"
	cases := map[string]limitCase{
		"pictures without end":             {ffmpeg.Config{MaxInput: 1 << 20}, &endless{ts}, watch.FailureTooLarge, ""},
		"200 MB of filler after a segment": {ffmpeg.Config{}, io.MultiReader(of(ts), io.LimitReader(&endless{null}, 200<<20)), watch.FailureTooLarge, ""},
		"a segment as large as the limit":  {ffmpeg.Config{MaxInput: size}, of(ts), "", ""},
		"a segment a byte larger":          {ffmpeg.Config{MaxInput: size - 1}, of(ts), watch.FailureTooLarge, ""},
		"negative limits are the defaults": {ffmpeg.Config{MaxInput: -1, MaxOutput: -1}, of(ts), "", ""},
		"output that is cut off":           {ffmpeg.Config{MaxOutput: 4 << 10}, of(ts), watch.FailureUndecodable, ""},

		"memory for 16 references of 2304p, which no decoder says it lacks": {ffmpeg.Config{}, of(large), watch.FailureTool, "256 MiB of memory"},
		"more memory for them": {ffmpeg.Config{MaxMemory: 512 << 20}, of(large), "", ""},
		"pixels of AV1":        {ffmpeg.Config{}, of(tooManyPixels(t, av1...)), watch.FailureTool, "more than the 10066329 pixels"},
		"pixels of VP9":        {ffmpeg.Config{}, of(tooManyPixels(t, vp9...)), watch.FailureTool, "more than the 10066329 pixels"},
		"3.3 million pixels":   {ffmpeg.Config{MaxMemory: 128 << 20}, of(encodeVideo(t, "color=s=3840x2160:r=10:d=0.5")), watch.FailureTool, "pixels"},

		"CPU time":               {ffmpeg.Config{MaxCPU: time.Second}, of(bytes.Repeat(ts, 200)), watch.FailureTool, cpu},
		"CPU time, at a SIGXCPU": {ffmpeg.Config{MaxCPU: time.Second, Path: fakeFFmpeg(t, "while :; do :; done")}, of(ts), watch.FailureTool, cpu},
		"CPU time, at a SIGKILL": {ffmpeg.Config{MaxCPU: time.Second, Path: fakeFFmpeg(t, "trap '' XCPU; while :; do :; done")}, of(ts), watch.FailureTool, cpu},
	}
	// In MB: with 1 and 90 the program cannot be loaded, with 140 the segment nearly fits.
	// From about 104 on the sound and some pictures are decoded.
	for _, memory := range []int64{1, 90, 100, 104, 108, 112, 120, 130, 140} {
		cases[fmt.Sprintf("%d MB of memory", memory)] = limitCase{ffmpeg.Config{MaxMemory: memory << 20}, of(references), watch.FailureTool, "of memory"}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.limits.Timeout = patience; c.limits.Path == "" {
				c.limits.Path, c.limits.Files = ffmpegPath(t), []string{}
			}
			if c.kind == "" {
				if _, err := ffmpeg.New(c.limits).Analyse(t.Context(), watch.Segment{}, watch.Look{}, c.segment, settings); err != nil {
					t.Errorf("Analyse: %v", err)
				}
			} else if f := analyseFails(t, ffmpeg.New(c.limits), c.segment, c.kind); !strings.Contains(f.Detail, c.detail) {
				t.Errorf("got %v, want %q", f, c.detail)
			}
		})
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
		"negative":   {ffmpeg.Config{MaxMemory: -1, MaxCPU: -1, Timeout: -1}, "196608 196608 15 16 64 64 0 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Path = path
			if got := strings.Join(strings.Fields(run(t, c.config)), " "); got != c.want {
				t.Errorf("the limits are %q, want %q", got, c.want)
			}
		})
	}
}

// run returns what ffmpeg prints of a segment.
func run(t *testing.T, c ffmpeg.Config) string {
	t.Helper()
	res, err := ffmpeg.Run(t.Context(), ffmpeg.New(c), watch.Segment{URI: "https://media.example/signed"}, bytes.NewReader(scene{}.make(t)), settings)
	if err != nil {
		t.Fatal(err)
	}
	return string(res.Stdout)
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
		"H.264 1080p with 16 references": {sixteenReferences(t), 30},
		"HEVC 1080p with 10 bits":        {large(t, "1920x1080", "0.5", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p10le"), 15},
		"H.264 2160p":                    {large(t, "3840x2160", "0.5", "-c:v", "libx264", "-preset", "veryfast", "-threads", "1", "-x264-params", "rc-lookahead=0"), 15},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := ffmpeg.Run(t.Context(), ffmpeg.New(realTool(t)), watch.Segment{}, bytes.NewReader(c.segment), settings)
			if n := bytes.Count(res.Stdout, []byte("v=1\n")); err != nil || n != c.frames {
				t.Errorf("%d frames of %d, %v", n, c.frames, err)
			}
		})
	}
}
