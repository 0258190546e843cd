package ffmpeg_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestTheToolRunsWithinItsLimits(t *testing.T) {
	// In kilobytes of memory, seconds, files, blocks of files and of core dumps.
	path := script(t, "head -c 1 >/dev/null; for l in d t n f c; do ulimit -S$l; ulimit -H$l; done; cat >/dev/null")
	for name, c := range map[string]struct {
		config ffmpeg.Config
		want   string
	}{
		"by default":             {ffmpeg.Config{}, "196608 196608 15 16 64 64 0 0 0 0"},
		"as it is told":          {ffmpeg.Config{MaxMemory: 100 << 20, MaxCPU: 1500 * time.Millisecond}, "36864 36864 2 3 64 64 0 0 0 0"},
		"with hardly any":        {ffmpeg.Config{MaxMemory: 1, MaxCPU: 1}, "16384 16384 1 2 64 64 0 0 0 0"},
		"with less than nothing": {ffmpeg.Config{MaxMemory: -1, MaxCPU: -1}, "196608 196608 15 16 64 64 0 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Path = path
			res, err := ffmpeg.Run(t.Context(), ffmpeg.New(c.config), watch.Segment{}, bytes.NewReader(scene{}.make(t)), settings)
			if got := strings.Join(strings.Fields(string(res.Stdout)), " "); err != nil || got != c.want {
				t.Errorf("may use %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

// Config.MaxMemory tells what these take.
func TestWhatLiveStreamsTakeIsThere(t *testing.T) {
	large := func(size, seconds string, codec ...string) []byte {
		return encode(t, append([]string{"-f", "lavfi", "-i", "testsrc2=s=" + size + ":r=30:d=" + seconds, "-f", "lavfi", "-i", "sine=f=440:r=48000:d=" + seconds,
			"-c:a", "aac", "-pix_fmt", "yuv420p"}, append(codec, "-f", "mpegts")...)...)
	}
	for name, c := range map[string]struct {
		segment []byte
		frames  int
	}{
		"H.264 144p":                     {scene{}.make(t), 90},
		"H.264 1080p with 16 references": {large("1920x1080", "1", "-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "ref=16:bframes=8", "-level", "6.2"), 30},
		"HEVC 1080p with 10 bits":        {large("1920x1080", "1", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p10le"), 30},
		"H.264 2160p":                    {large("3840x2160", "0.5", "-c:v", "libx264", "-preset", "veryfast"), 15},
	} {
		t.Run(name, func(t *testing.T) {
			resident := peak(t)
			res, err := ffmpeg.Run(t.Context(), ffmpeg.New(ffmpeg.Config{Path: tool(t)}), watch.Segment{}, bytes.NewReader(c.segment), settings)
			t.Logf("%d MB, %v of CPU", resident()>>20, res.CPUTime)
			if n := bytes.Count(res.Stdout, []byte("frame:")); err != nil || n != c.frames {
				t.Errorf("%d frames of %d, %v", n, c.frames, err)
			}
		})
	}
}

func TestTooLittleMemoryIsNoFaultOfTheSegment(t *testing.T) {
	segment := encode(t, "-f", "lavfi", "-i", "testsrc2=s=1920x1080:r=30:d=1", "-f", "lavfi", "-i", "sine=f=440:r=48000:d=1",
		"-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "ref=16:bframes=8", "-level", "6.2", "-pix_fmt", "yuv420p", "-c:a", "aac", "-f", "mpegts")
	// From where not even the program can be loaded to where the segment all but
	// fits, in MB. From about 104 on the sound is decoded, and of the picture some.
	for _, memory := range []int64{1, 90, 100, 104, 108, 112, 120, 130, 140} {
		a := ffmpeg.New(ffmpeg.Config{Path: tool(t), MaxMemory: memory << 20})
		f := failed(t, a, bytes.NewReader(segment), watch.FailureTool)
		if memory >= 100 && !strings.Contains(f.Detail, "memory") {
			t.Errorf("of %d MB: %v", memory, f)
		}
	}
}

// Of 16 reference frames of this size not all find room, and the decoder does
// not say so: it goes on with errors that a broken stream has too.
func TestAShortageThatIsNotToldIsNoticed(t *testing.T) {
	segment := hostileSizes["H.264 of 4096x2304 with 16 references"](t)
	f := failed(t, ffmpeg.New(ffmpeg.Config{Path: tool(t)}), bytes.NewReader(segment), watch.FailureTool)
	if !strings.Contains(f.Detail, "256 MiB of memory") {
		t.Errorf("got %v", f)
	}
	t.Run("with more it is decoded", func(t *testing.T) {
		a := ffmpeg.New(ffmpeg.Config{Path: tool(t), MaxMemory: 512 << 20})
		if _, err := a.Analyse(t.Context(), watch.Segment{}, bytes.NewReader(segment), settings); err != nil {
			t.Errorf("Analyse: %v", err)
		}
	})
}

func TestAPictureThatIsTooLargeIsNoFaultOfTheSegment(t *testing.T) {
	for _, name := range []string{"AV1 of 4096x4096", "VP9 of 448x65535"} {
		f := failed(t, ffmpeg.New(ffmpeg.Config{Path: tool(t)}), bytes.NewReader(hostileSizes[name](t)), watch.FailureTool)
		if !strings.Contains(f.Detail, "more than the 10066329 pixels") {
			t.Errorf("%s: %v", name, f)
		}
	}
	small := ffmpeg.Config{Path: tool(t), MaxMemory: 128 << 20} // for 3.3 million of them
	f := failed(t, ffmpeg.New(small), bytes.NewReader(encode(t, "-f", "lavfi", "-i", "color=s=3840x2160:r=10:d=0.5",
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-f", "mpegts")), watch.FailureTool)
	if !strings.Contains(f.Detail, "pixels") {
		t.Errorf("H.264: %v", f)
	}
}

func TestTooLittleCPUTimeIsNoFaultOfTheSegment(t *testing.T) {
	segment := bytes.Repeat(scene{}.make(t), 200)
	f := failed(t, ffmpeg.New(ffmpeg.Config{Path: tool(t), MaxCPU: time.Second}), bytes.NewReader(segment), watch.FailureTool)
	if !strings.Contains(f.Detail, "the 1s of CPU time") {
		t.Errorf("got %v", f)
	}
	for name, body := range map[string]string{
		"one that is asked":             "while :; do :; done",
		"one that will not do as asked": "trap '' XCPU; while :; do :; done",
	} {
		t.Run(name, func(t *testing.T) {
			f := failed(t, ffmpeg.New(ffmpeg.Config{Path: script(t, body), MaxCPU: time.Second}), bytes.NewReader(scene{}.make(t)), watch.FailureTool)
			if !strings.Contains(f.Detail, "the 1s of CPU time") {
				t.Errorf("got %v", f)
			}
		})
	}
}
