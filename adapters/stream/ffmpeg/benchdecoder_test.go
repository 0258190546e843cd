package ffmpeg_test

import (
	"bytes"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// maxCalmCheck is the CPU time that segment-decoder may take for the key frames and some of
// the sound of a segment of 144p, all included (decision 17).
const maxCalmCheck = 4 * time.Millisecond

// BenchmarkDecoder compares the CPU time (user and system) of an analysis by
// segment-decoder with that by the command, this process's own part included. Both get the
// same four seconds in turn. A new process of segment-decoder, whose start counts, takes
// some segments of them.
func BenchmarkDecoder(b *testing.B) {
	var report, above string
	for _, r := range renditions {
		segments := map[string]int{"144p": 200, "720p": 20}[r.name]
		if segments == 0 {
			continue
		}
		segment := liveSegment(b, r.width, r.height, r.video, r.audio)
		for _, calm := range []watch.Calm{{}, calmest} {
			name := lookName(calm)
			b.Run(r.name+"/"+name, func(b *testing.B) {
				// cost returns the CPU time of one of several analyses. end ends their processes.
				cost := func(c ffmpeg.Config, times int, end func()) time.Duration {
					a, before := ffmpeg.New(c), allCPU(b)
					for range times {
						if _, err := a.Analyse(b.Context(), watch.Segment{}, calm, bytes.NewReader(segment), settings); err != nil {
							b.Fatal(err)
						}
					}
					end()
					return (allCPU(b) - before) / time.Duration(times)
				}
				var command, decoding []time.Duration
				b.ResetTimer()
				for range max(b.N, rounds) {
					pool := newPool(b, nil)
					command = append(command, cost(ffmpeg.Config{Path: ffmpegPath(b)}, segments/10, func() {}))
					decoding = append(decoding, cost(ffmpeg.Config{Path: noCommand, Decoder: newStream(pool)}, segments, pool.Close))
				}
				b.ReportMetric(0, "ns/op") // hides the wall time, which is that of both together
				b.ReportMetric(milliseconds(median(command)), "command-cpu-ms")
				b.ReportMetric(milliseconds(median(decoding)), "decoder-cpu-ms")
				report += fmt.Sprintf("%-6s  %-11s  %8.1f ms  %8.1f ms  %5.1f×\n", r.name, name, milliseconds(median(command)), milliseconds(median(decoding)),
					float64(median(command))/float64(median(decoding)))
				if r.name == "144p" && calm == calmest && median(decoding) > maxCalmCheck {
					above = fmt.Sprintf("%v for a calm segment of 144p, want at most %v", median(decoding), maxCalmCheck)
				}
			})
		}
	}
	finalReport += fmt.Sprintf("\nCPU of one 4 s segment, median of %d, user + system, of this process too\n%-6s  %-11s  %11s  %11s  %6s\n%s",
		rounds, "", "look", "ffmpeg", "decoder", "ratio", report)
	if above != "" {
		b.Error(above)
	}
}

// allCPU returns the CPU time of this process and of the subprocesses that have ended.
func allCPU(b *testing.B) time.Duration {
	b.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		b.Fatal(err)
	}
	return time.Duration(own.Utime.Nano()+own.Stime.Nano()) + subprocessesCPU(b)
}
