package ffmpeg_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
)

// maxMeasuring is how many times the CPU of a check without measures one with them may
// use (section 16.3).
const maxMeasuring = 1.15

// measuringRounds is how often each check is run in turn; the median counts.
const measuringRounds = 21

// BenchmarkMeasuring compares the CPU time (user and system) of the ffmpeg run of a check
// with that of the same run without luma and level.
func BenchmarkMeasuring(b *testing.B) {
	path := ffmpegPath(b)
	const maxPixels = 1 << 24
	with := ffmpeg.Arguments(settings, "mpegts", maxPixels)
	without := ffmpeg.ArgumentsWithoutMeasures(settings, "mpegts", maxPixels)
	if slices.Equal(with, without) {
		b.Fatal("both runs measure")
	}
	var report, above string
	for _, r := range renditions {
		b.Run(r.name, func(b *testing.B) {
			segment := liveSegment(b, r.width, r.height, r.video, r.audio)
			cpu := func(args []string) time.Duration {
				return subprocessCPU(b, func() error {
					cmd := exec.Command(path, args...)
					cmd.Stdin = bytes.NewReader(segment)
					return cmd.Run()
				})
			}
			var measured, plain []time.Duration
			b.ResetTimer()
			for range max(b.N, measuringRounds) {
				plain, measured = append(plain, cpu(without)), append(measured, cpu(with))
			}
			ratio := float64(median(measured)) / float64(median(plain))
			b.ReportMetric(0, "ns/op") // hides the wall time, which is that of both together
			b.ReportMetric(ratio, "times-cpu")
			report += fmt.Sprintf("%-10s  %9.1f ms  %9.1f ms  %5.2f×\n", r.name, milliseconds(median(plain)), milliseconds(median(measured)), ratio)
			if ratio > maxMeasuring {
				above += " " + r.name
			}
		})
	}
	finalReport += fmt.Sprintf("\nCPU of one check of 4 s, median of %d, user + system of ffmpeg\n%-10s  %12s  %12s  %6s\n%s",
		measuringRounds, "rendition", "unmeasured", "measured", "ratio", report)
	if above != "" {
		b.Errorf("luma and level take over %v times the CPU of a check at%s", maxMeasuring, above)
		return
	}
	finalReport += fmt.Sprintf("passed: luma and level take at most %v times the CPU of a check\n", maxMeasuring)
}
