package ffmpeg_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// grey returns three seconds of one grey and a stereo tone of a peak amplitude.
func grey(t *testing.T, value int, pixelFormat string, amplitude float64) []byte {
	t.Helper()
	return encode(t, "-f", "lavfi", "-i", fmt.Sprintf("color=0x%02x%02x%02x:s=256x144:r=30:d=3", value, value, value),
		"-f", "lavfi", "-i", fmt.Sprintf("aevalsrc=%[1]g*sin(440*2*PI*t)|%[1]g*sin(440*2*PI*t):s=48000:d=3", amplitude),
		"-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", pixelFormat, "-c:a", "aac", "-f", "mpegts")
}

func TestLumaAndLevelAreMeasuredOnceASecond(t *testing.T) {
	for name, c := range map[string]struct {
		segment     []byte
		luma, level float64
	}{
		"grey and -23 dBFS":            {grey(t, 128, "yuv420p", 0.1), 128, -23},
		"white and -3 dBFS":            {grey(t, 255, "yuv420p", 0.999), 255, -3},
		"black and digital silence":    {grey(t, 0, "yuv420p", 0), 0, watch.MinLevel},
		"grey of 10 bits":              {grey(t, 128, "yuv420p10le", 0.1), 128, -23},
		"grey of the full range":       {grey(t, 128, "yuvj420p", 0.1), 128, -23},
		"moving bars and a quiet tone": {scene{volume: -20}.make(t), 119, -44},
	} {
		t.Run(name, func(t *testing.T) {
			got := look(t, realTool(t), watch.Look{}, c.segment).Measures
			if len(got) < 3 || len(got) > 4 { // the last sound frame may begin the fourth second
				t.Fatalf("%d measures of three seconds: %v", len(got), got)
			}
			for i, m := range got[:3] {
				if m.Luma == nil || m.Level == nil || m.At.Truncate(time.Second) != time.Duration(i)*time.Second {
					t.Fatalf("measure %d is %+v", i, m)
				}
				if math.Abs(*m.Luma-c.luma) > 3 || math.Abs(*m.Level-c.level) > 1.5 {
					t.Errorf("second %d: luma %v, level %v dBFS, want %v and %v", i, *m.Luma, *m.Level, c.luma, c.level)
				}
			}
		})
	}
}

func TestAMissingTrackIsNotMeasured(t *testing.T) {
	for name, c := range map[string]struct {
		segment     []byte
		luma, level bool
	}{"sound alone": {encodeSound(t, 2), false, true}, "a picture alone": {encodeVideo(t, "testsrc2=s=256x144:r=30:d=2"), true, false}} {
		for _, m := range look(t, realTool(t), watch.Look{}, c.segment).Measures {
			if (m.Luma != nil) != c.luma || (m.Level != nil) != c.level {
				t.Errorf("%s has the measure %+v", name, m)
			}
		}
	}
}

func TestMeasurementsArePrintedBesideFrames(t *testing.T) {
	luma := func(at, value string) string {
		return "frame:0    pts:1 pts_time:" + at + "\nlavfi.signalstats.YAVG=" + value + "\n"
	}
	level := func(at, value string) string {
		return "[h264 @ 0x55] odd frame: frame:0    pts:1 pts_time:" + at + "\n[aac @ 0x55] odd lavfi.astats.Overall.RMS_level=" + value + "\n"
	}
	const frame = "frame:0    pts:0 pts_time:0\nv=1\n" // of a track that is present
	for name, c := range map[string]struct {
		stdout, stderr string
		want           []string // time, luma, level
	}{
		"the level of a second is that of the mean power": {"", level("0", "-20") + level("0.5", "-inf"), []string{"0s - -23"}},
		"digital silence":                  {"", level("0.2", "-inf"), []string{"200ms - -120"}},
		"the luma of a second is the mean": {luma("0", "10") + luma("0.9", "20"), "", []string{"0s 15 -"}},
		"values out of range":              {luma("0", "1e9") + luma("1", "-1"), level("0", "12"), []string{"0s 255 0", "1s 0 -"}},
		"values that are none":             {luma("0", "nan") + luma("1", "x"), "", nil},
		"a measurement without a time":     {luma("NOPTS", "10"), "", nil},
		"picture and sound of one second":  {luma("0.02", "100"), level("0", "-20"), []string{"0s 100 -20"}},
	} {
		t.Run(name, func(t *testing.T) {
			measures, err := ffmpeg.ParseMeasures([]byte(frame+c.stdout), []byte(frame+c.stderr))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range measures {
				text := func(v *float64) string {
					if v == nil {
						return "-"
					}
					return fmt.Sprint(*v)
				}
				got = append(got, fmt.Sprint(m.At, " ", text(m.Luma), " ", text(m.Level)))
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("measures %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheMeasuresOfASegmentAreLimited(t *testing.T) {
	var printed strings.Builder
	printed.WriteString("frame:0    pts:0 pts_time:0\nv=1\n")
	for second := range 5000 {
		fmt.Fprintf(&printed, "frame:0    pts:1 pts_time:%d\nlavfi.signalstats.YAVG=100\n", second)
	}
	measures, err := ffmpeg.ParseMeasures([]byte(printed.String()), nil)
	if err != nil || len(measures) != 600 {
		t.Errorf("%d measures, %v, want 600", len(measures), err)
	}
}
