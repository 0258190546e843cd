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

// renditions are those of a live stream, with YouTube's bit rates.
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

// minGain is how many times less CPU one analysis of the smallest rendition must use
// than the specification's two runs on the largest.
const minGain = 8

// rounds is the least number of measurements; the median counts.
const rounds = 5

// BenchmarkCheck compares the CPU time (user and system) of one analysis with that of
// the specification's two ffmpeg runs (sections 6.3 and 6.4). Both get the same four
// seconds, which come from the film TEST_CLIP, or from moving bars, noise and a tone.
func BenchmarkCheck(b *testing.B) {
	path := ffmpegPath(b)
	analyser := ffmpeg.New(ffmpeg.Config{Path: path})
	spec, ours := map[string]time.Duration{}, map[string]time.Duration{}
	for _, r := range renditions {
		b.Run(r.name, func(b *testing.B) {
			segment := liveSegment(b, r.width, r.height, r.video, r.audio)
			file := filepath.Join(b.TempDir(), "segment.ts")
			if err := os.WriteFile(file, segment, 0o600); err != nil {
				b.Fatal(err)
			}
			var specTimes, ourTimes []time.Duration
			b.ResetTimer()
			for range max(b.N, rounds) {
				specTimes = append(specTimes, subprocessCPU(b, func() error { return runAsSpecified(path, file) }))
				ourTimes = append(ourTimes, subprocessCPU(b, func() error {
					_, err := analyser.Analyse(b.Context(), watch.Segment{}, watch.Calm{}, bytes.NewReader(segment), settings)
					return err
				}))
			}
			spec[r.name], ours[r.name] = median(specTimes), median(ourTimes)
			b.ReportMetric(0, "ns/op") // hides the wall time, which is that of both together
			b.ReportMetric(milliseconds(spec[r.name]), "spec-cpu-ms")
			b.ReportMetric(milliseconds(ours[r.name]), "cpu-ms")
			b.ReportMetric(float64(spec[r.name])/float64(ours[r.name]), "times-less")
		})
	}
	largest, smallest := renditions[0].name, renditions[len(renditions)-1].name
	if spec[largest] == 0 || ours[smallest] == 0 {
		return // -bench selected only some
	}
	gain := float64(spec[largest]) / float64(ours[smallest])
	finalReport += table(spec, ours) + fmt.Sprintf(
		"one analysis at %s takes %.1f times less CPU than the specification at %s (at least %v wanted)\n", smallest, gain, largest, minGain)
	if gain < minGain {
		b.Errorf("%.1f times less CPU than the specification's two runs, want at least %d", gain, minGain)
	}
}

func table(spec, ours map[string]time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nCPU of one 4 s segment, median of %d, user + system of the subprocesses\n", rounds)
	fmt.Fprintf(&b, "%-10s  %22s  %12s  %6s\n", "rendition", "specification, 2 runs", "one analysis", "ratio")
	for _, r := range renditions {
		fmt.Fprintf(&b, "%-10s  %19.0f ms  %9.0f ms  %5.1f×\n",
			r.name, milliseconds(spec[r.name]), milliseconds(ours[r.name]), float64(spec[r.name])/float64(ours[r.name]))
	}
	return b.String()
}

// runAsSpecified runs the two commands of sections 6.3 and 6.4.
func runAsSpecified(path, file string) error {
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

// subprocessCPU returns the CPU time of the subprocesses that do waits for.
func subprocessCPU(b *testing.B, do func() error) time.Duration {
	b.Helper()
	before := subprocessesCPU(b)
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return subprocessesCPU(b) - before
}

func subprocessesCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// liveSegment returns four seconds of MPEG-TS like those of a live encoder.
func liveSegment(b *testing.B, width, height, video, audio int) []byte {
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
