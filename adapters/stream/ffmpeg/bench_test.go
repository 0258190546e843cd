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
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const (
	// minGain is how many times less CPU one analysis of the smallest rendition must use
	// than the specification's two runs on the largest.
	minGain = 8
	// maxCalmCheck is the CPU time that segment-decoder may take for the key frames and some
	// of the sound of a segment of 144p, all included (decision 17).
	maxCalmCheck = 4 * time.Millisecond
	// maxDetectors is how many times the CPU of a calm check one may use that measures all that
	// the optional detectors judge of one.
	maxDetectors = 1.6
	// maxMeasuring is how many times the CPU of a check without measures one with them may
	// use (section 16.3).
	maxMeasuring = 1.15
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

// compareCPU does the same in two ways, in turn. It reports and returns the median CPU
// times (user and system) of both.
func compareCPU(b *testing.B, rounds int, usual, ours func() time.Duration) (ofUsual, ofOurs time.Duration) {
	b.Helper()
	var all [2][]time.Duration
	b.ResetTimer()
	for range max(b.N, rounds) {
		all[0], all[1] = append(all[0], usual()), append(all[1], ours())
	}
	for _, times := range all {
		slices.Sort(times)
	}
	ofUsual, ofOurs = all[0][len(all[0])/2], all[1][len(all[1])/2]
	b.ReportMetric(0, "ns/op") // hides the wall time, which is that of both together
	b.ReportMetric(ofUsual.Seconds()*1000, "usual-cpu-ms")
	b.ReportMetric(ofOurs.Seconds()*1000, "cpu-ms")
	b.ReportMetric(float64(ofUsual)/float64(ofOurs), "times-less")
	return ofUsual, ofOurs
}

// cpuOf returns the CPU time that do takes, of this process and of the subprocesses that it waits for.
func cpuOf(b *testing.B, do func() error) time.Duration {
	b.Helper()
	used := func() (sum int64) {
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var u syscall.Rusage
			if err := syscall.Getrusage(who, &u); err != nil {
				b.Fatal(err)
			}
			sum += u.Utime.Nano() + u.Stime.Nano()
		}
		return sum
	}
	before := used()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used() - before)
}

// runFFmpeg returns a function that runs the real ffmpeg, with a segment as its input.
func runFFmpeg(b *testing.B, segment []byte, args ...string) func() error {
	b.Helper()
	path := ffmpegPath(b)
	return func() error {
		cmd := exec.Command(path, args...)
		cmd.Stdin = bytes.NewReader(segment)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	}
}

func analyseTimes(b *testing.B, c ffmpeg.Config, calm watch.Look, segment []byte, times int) error {
	b.Helper()
	a := ffmpeg.New(c)
	for range times {
		if _, err := a.Analyse(b.Context(), watch.Segment{}, calm, bytes.NewReader(segment), settings); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkCheck compares one analysis with the specification's two ffmpeg runs (sections 6.3
// and 6.4). Both get the same four seconds, which come from the film TEST_CLIP, or from
// moving bars, noise and a tone.
func BenchmarkCheck(b *testing.B) {
	specified, ours := map[string]time.Duration{}, map[string]time.Duration{}
	for _, r := range renditions {
		b.Run(r.name, func(b *testing.B) {
			segment := liveSegment(b, r.width, r.height, r.video, r.audio)
			file := filepath.Join(b.TempDir(), "segment.ts")
			if err := os.WriteFile(file, segment, 0o600); err != nil {
				b.Fatal(err)
			}
			black := runFFmpeg(b, nil, "-i", file, "-vf", "blackdetect=d=0.1:pix_th=0.10", "-an", "-f", "null", "-")
			silent := runFFmpeg(b, nil, "-i", file, "-af", "silencedetect=n=-50dB:d=0.5", "-vn", "-f", "null", "-")
			specified[r.name], ours[r.name] = compareCPU(b, 5,
				func() time.Duration { return cpuOf(b, black) + cpuOf(b, silent) },
				func() time.Duration {
					return cpuOf(b, func() error { return analyseTimes(b, ffmpeg.Config{Path: ffmpegPath(b)}, watch.Look{}, segment, 1) })
				})
		})
	}
	if gain := float64(specified["1080p"]) / float64(max(ours["144p"], 1)); specified["1080p"] > 0 && ours["144p"] > 0 && gain < minGain {
		b.Errorf("%.1f times less CPU than the specification's two runs, want at least %d", gain, minGain)
	}
}

// BenchmarkDecoder compares segment-decoder with the command. Both get the same four seconds.
// A new process of segment-decoder, whose start counts, takes some segments of them.
func BenchmarkDecoder(b *testing.B) {
	for _, r := range renditions {
		segments := map[string]int{"144p": 200, "720p": 20}[r.name]
		if segments == 0 {
			continue
		}
		segment := liveSegment(b, r.width, r.height, r.video, r.audio)
		for look, calm := range map[string]watch.Look{"every_frame": {}, "calm": calmest} {
			b.Run(r.name+"/"+look, func(b *testing.B) {
				command := func() time.Duration {
					times := segments / 10
					return cpuOf(b, func() error { return analyseTimes(b, ffmpeg.Config{Path: ffmpegPath(b)}, calm, segment, times) }) / time.Duration(times)
				}
				decoding := func() time.Duration { return decodingTime(b, calm, segment, segments) }
				if _, took := compareCPU(b, 5, command, decoding); r.name == "144p" && calm == calmest && took > maxCalmCheck {
					b.Errorf("%v for a calm segment of 144p, want at most %v", took, maxCalmCheck)
				}
			})
		}
	}
}

// BenchmarkMeasurements compares a calm check that measures something with one that does not. Movement is
// measured only when every frame is decoded, so it is compared with that.
func BenchmarkMeasurements(b *testing.B) {
	const segments = 200
	r := renditions[len(renditions)-1]
	segment := liveSegment(b, r.width, r.height, r.video, r.audio)
	all := detector.Pictures | detector.Sound | detector.Tone | detector.Captions | detector.Damage
	for _, c := range []struct {
		name    string
		measure detector.Measurement
		look    watch.Look
	}{
		{"pictures", detector.Pictures, calmest},
		{"sound", detector.Sound, calmest},
		{"tone", detector.Tone, calmest},
		{"captions", detector.Captions, calmest},
		{"damage", detector.Damage, calmest},
		{"all", all, calmest},
		{"movement", detector.Movement, watch.Look{Audio: time.Hour}},
		{"all_and_movement", all | detector.Movement, watch.Look{Audio: time.Hour}},
		{"nothing_and_all_sound", 0, watch.Look{Video: time.Hour}},
	} {
		b.Run(c.name, func(b *testing.B) {
			with := c.look
			with.Measure = c.measure
			plain := c.look
			if c.measure == 0 {
				plain = calmest
			}
			measured, calm := compareCPU(b, 5,
				func() time.Duration { return decodingTime(b, with, segment, segments) },
				func() time.Duration { return decodingTime(b, plain, segment, segments) })
			ratio := float64(measured) / float64(calm)
			b.ReportMetric(ratio, "times-more")
			if c.name == "all" && ratio > maxDetectors {
				b.Errorf("all measurements take %.2f times the CPU of a calm check, at most %v is wanted", ratio, maxDetectors)
			}
		})
	}
}

// BenchmarkLooks compares a look at another rendition, and a reading of captions as text, with a calm check of 144p. A
// look gets the first MiB of a segment (decision S22). The playlists, which are read in either case, are left out.
func BenchmarkLooks(b *testing.B) {
	const checks, firstBytes = 100, 1 << 20
	watched := renditions[len(renditions)-1]
	segment := liveSegment(b, watched.width, watched.height, watched.video, watched.audio)
	compare := func(name string, look watch.Look, other []byte, looks int) {
		b.Run(name, func(b *testing.B) {
			look, calm := compareCPU(b, 5,
				func() time.Duration { return decodingTime(b, look, other, looks) },
				func() time.Duration { return decodingTime(b, calmest, segment, checks) })
			b.ReportMetric(float64(look)/float64(calm), "times-more")
		})
	}
	whole := watch.Segment{Duration: 4 * time.Second}
	for _, r := range renditions[:len(renditions)-1] {
		other := liveSegment(b, r.width, r.height, r.video, r.audio)
		compare(r.name, watch.LookAtRendition(whole, false), other[:min(len(other), firstBytes)], checks)
	}
	// No cue has a text, so all of it is read.
	empty := "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n" + strings.Repeat("\n00:00:00.000 --> 00:00:01.000 line:90%\n<v Mai>&nbsp;</v>\n", 8)
	compare("captions_as_text", watch.LookAtRendition(whole, true), []byte(empty), 100*checks)
}

// decodingTime returns the CPU time in which a new process of segment-decoder analyses a segment, the mean of so many
// times. Its start counts.
func decodingTime(b *testing.B, look watch.Look, segment []byte, times int) time.Duration {
	b.Helper()
	pool := newPool(b, nil)
	return cpuOf(b, func() error {
		defer pool.Close()
		return analyseTimes(b, ffmpeg.Config{Path: noCommand, Decoder: newStream(pool)}, look, segment, times)
	}) / time.Duration(times)
}

// BenchmarkMeasuring compares the ffmpeg run of a check with the same run without luma and level.
func BenchmarkMeasuring(b *testing.B) {
	const maxPixels = 1 << 24
	with, without := ffmpeg.Arguments(settings, "mpegts", maxPixels), ffmpeg.ArgumentsWithoutMeasures(settings, "mpegts", maxPixels)
	if slices.Equal(with, without) {
		b.Fatal("both runs measure")
	}
	for _, r := range renditions {
		b.Run(r.name, func(b *testing.B) {
			segment := liveSegment(b, r.width, r.height, r.video, r.audio)
			measured, plain := compareCPU(b, 21,
				func() time.Duration { return cpuOf(b, runFFmpeg(b, segment, with...)) },
				func() time.Duration { return cpuOf(b, runFFmpeg(b, segment, without...)) })
			if ratio := float64(measured) / float64(plain); ratio > maxMeasuring {
				b.Errorf("luma and level take %.2f times the CPU of a check, at most %v is allowed", ratio, maxMeasuring)
			}
		})
	}
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
