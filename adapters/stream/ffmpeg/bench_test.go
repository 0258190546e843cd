package ffmpeg_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// renditions of a live stream, with the bit rates that YouTube gives them.
var renditions = []struct {
	name          string
	width, height int
	video, audio  int // kbit/s
}{
	{"1080p", 1920, 1080, 4500, 128},
	{"720p", 1280, 720, 2300, 128},
	{"360p", 640, 360, 700, 128},
	{"144p", 256, 144, 180, 64},
}

// leastGain is how many times less CPU one check at the smallest rendition has
// to cost than the specification's two runs at the best one.
const leastGain = 8

// rounds is how often each is measured, in turns; the median counts.
const rounds = 5

// BenchmarkCheck compares the CPU time (user and system, of the child
// processes) of one analysis with that of the specification's two ffmpeg runs
// (sections 6.3 and 6.4), on the same four seconds. TEST_CLIP names a film to
// take them from; without it they are made of moving bars, noise and a tone.
func BenchmarkCheck(b *testing.B) {
	path := tool(b)
	analyser := ffmpeg.New(ffmpeg.Config{Path: path})
	spec, ours := map[string]time.Duration{}, map[string]time.Duration{}
	for _, r := range renditions {
		b.Run(r.name, func(b *testing.B) {
			segment := film(b, r.width, r.height, r.video, r.audio)
			file := filepath.Join(b.TempDir(), "segment.ts")
			if err := os.WriteFile(file, segment, 0o600); err != nil {
				b.Fatal(err)
			}
			var theirs, own []time.Duration
			b.ResetTimer()
			for range max(b.N, rounds) {
				theirs = append(theirs, childCPU(b, func() error { return specified(path, file) }))
				own = append(own, childCPU(b, func() error {
					_, err := analyser.Analyse(b.Context(), watch.Segment{}, bytes.NewReader(segment), settings)
					return err
				}))
			}
			spec[r.name], ours[r.name] = median(theirs), median(own)
			b.ReportMetric(0, "ns/op") // wall time of both together: says nothing
			b.ReportMetric(milliseconds(spec[r.name]), "spec-cpu-ms")
			b.ReportMetric(milliseconds(ours[r.name]), "cpu-ms")
			b.ReportMetric(float64(spec[r.name])/float64(ours[r.name]), "times-less")
		})
	}
	best, smallest := renditions[0].name, renditions[len(renditions)-1].name
	if spec[best] == 0 || ours[smallest] == 0 {
		return // only some were asked for
	}
	gain := float64(spec[best]) / float64(ours[smallest])
	afterwards = table(spec, ours) + fmt.Sprintf(
		"the specification at %s / one check at %s: %.1f times less CPU (at least %d wanted)\n", best, smallest, gain, leastGain)
	if gain < leastGain {
		b.Errorf("%.1f times less CPU than the specification's way, want at least %d", gain, leastGain)
	}
}

func table(spec, ours map[string]time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nCPU of one 4 s segment, median of %d, user + system of the child processes\n", rounds)
	fmt.Fprintf(&b, "%-10s  %22s  %10s  %6s\n", "rendition", "specification, 2 runs", "one check", "ratio")
	for _, r := range renditions {
		fmt.Fprintf(&b, "%-10s  %19.0f ms  %7.0f ms  %5.1f×\n",
			r.name, milliseconds(spec[r.name]), milliseconds(ours[r.name]), float64(spec[r.name])/float64(ours[r.name]))
	}
	return b.String()
}

// specified is what sections 6.3 and 6.4 say, to the letter.
func specified(path, file string) error {
	for _, args := range [][]string{
		{"-i", file, "-vf", "blackdetect=d=0.1:pix_th=0.10", "-an", "-f", "null", "-"},
		{"-i", file, "-af", "silencedetect=n=-50dB:d=0.5", "-vn", "-f", "null", "-"},
	} {
		if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	return nil
}

// childCPU is what the children that do waits for have used.
func childCPU(b *testing.B, do func() error) time.Duration {
	b.Helper()
	before := used(b)
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return used(b) - before
}

func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// film makes four seconds of MPEG-TS as a live encoder would.
func film(b *testing.B, width, height, video, audio int) []byte {
	b.Helper()
	source := []string{
		"-f", "lavfi", "-i", "testsrc2=s=1920x1080:r=30:d=4,noise=alls=12:allf=t+u",
		"-f", "lavfi", "-i", "aevalsrc='0.2*sin(440*2*PI*t)+0.05*random(0)|0.2*sin(554*2*PI*t)+0.05*random(1)':s=48000:d=4",
	}
	if clip := os.Getenv("TEST_CLIP"); clip != "" {
		source = []string{"-stream_loop", "-1", "-t", "4", "-i", clip}
	}
	return encode(b, append(source,
		"-vf", fmt.Sprintf("scale=%d:%d", width, height), "-pix_fmt", "yuv420p",
		"-c:v", "libx264", "-preset", "veryfast", "-profile:v", "high", "-bf", "2", "-g", "120",
		"-b:v", fmt.Sprintf("%dk", video), "-maxrate", fmt.Sprintf("%dk", video), "-bufsize", fmt.Sprintf("%dk", 2*video),
		"-c:a", "aac", "-ac", "2", "-b:a", fmt.Sprintf("%dk", audio), "-f", "mpegts")...)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
