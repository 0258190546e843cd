package ffmpeg_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// strictConfig has the default memory and less time than the defaults.
var strictConfig = ffmpeg.Config{Timeout: 5 * time.Second, MaxCPU: 2 * time.Second}

// maxOwnMemory is how many bytes more this process may use for one segment.
const maxOwnMemory = 32 << 20

// busyMachine is how much later a process may end when others need the CPU.
const busyMachine = 10 * time.Second

// A segment may succeed or fail.
func TestHostileSegmentsStayWithinTheLimits(t *testing.T) {
	var worst struct {
		memory, own int64
		cpu, took   time.Duration
	}
	for _, group := range []map[string]func(t *testing.T) []byte{hostilePictures, hostileMP4, hostileTS, hostileAudio, hostileTimes, mutatedSegments()} {
		for name, makeSegment := range group {
			t.Run(name, func(t *testing.T) {
				memory, own, cpu, took := checkLimits(t, makeSegment(t))
				worst.memory, worst.own = max(worst.memory, memory), max(worst.own, own)
				worst.cpu, worst.took = max(worst.cpu, cpu), max(worst.took, took)
			})
		}
	}
	t.Logf("at worst: ffmpeg %d MB, this process %d MB more, %v of CPU, %v",
		worst.memory>>20, worst.own>>20, worst.cpu.Round(time.Millisecond), worst.took.Round(time.Millisecond))
}

// checkLimits analyses a segment and checks what that took.
func checkLimits(t *testing.T, segment []byte) (memory, own int64, cpu, took time.Duration) {
	t.Helper()
	c := strictConfig
	c.Path = ffmpegPath(t)
	// The test's clips would otherwise let more garbage accumulate, which counts here.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	debug.FreeOSMemory()
	resident := samplePeakMemory(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	s := watch.Segment{Container: "mp3"} // for segments with unknown first bytes
	res, err := ffmpeg.Run(t.Context(), ffmpeg.New(c), s, bytes.NewReader(segment), settings)
	took, memory = time.Since(began), resident()
	if err == nil {
		_, _, err = ffmpeg.Parse(res.Stdout, res.Stderr)
	}
	runtime.ReadMemStats(&after)
	own = int64(after.HeapSys-after.HeapReleased) - int64(before.HeapSys-before.HeapReleased)

	if f := (*watch.Failure)(nil); err != nil && !errors.As(err, &f) {
		t.Errorf("error = %v", err)
	}
	t.Logf("%8d bytes: %3d MB, %5.2f s of CPU, %5.2f s; %d+%d bytes printed; %v",
		len(segment), memory>>20, res.CPUTime.Seconds(), took.Seconds(), len(res.Stdout), len(res.Stderr), err)
	if memory > ffmpeg.DefaultMaxMemory {
		t.Errorf("ffmpeg had %d MB", memory>>20)
	}
	if res.CPUTime > 3*c.MaxCPU { // SIGKILL comes a second after SIGXCPU, and on a shared machine what the host takes counts, too
		t.Errorf("ffmpeg had %v of CPU", res.CPUTime)
	}
	if took > c.Timeout+3*time.Second+busyMachine { // 3 s pass between SIGTERM and SIGKILL
		t.Errorf("took %v", took)
	}
	if own > maxOwnMemory {
		t.Errorf("this process needs %d MB more", own>>20)
	}
	checkNoSubprocess(t)
	return memory, own, res.CPUTime, took
}

// mutatedSegments are real segments of each kind with some bytes changed.
func mutatedSegments() map[string]func(t *testing.T) []byte {
	all := map[string]func(t *testing.T) []byte{}
	for name, s := range map[string]scene{
		"H.264 in MPEG-TS": {seconds: 1},
		"HEVC in MPEG-TS":  {seconds: 1, codec: []string{"-c:v", "libx265", "-x265-params", "log-level=none"}},
		"H.264 in MP4":     {seconds: 1, mux: fragmentedMP4},
		"VP9 in MP4":       {seconds: 1, codec: []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libopus"}, mux: fragmentedMP4},
		"AV1 in MP4":       {seconds: 1, codec: []string{"-c:v", "libsvtav1", "-preset", "12"}, mux: fragmentedMP4},
		"AAC":              {seconds: 1, codec: []string{"-vn"}, mux: []string{"-f", "adts"}},
		"MP3":              {seconds: 1, codec: []string{"-vn", "-c:a", "libmp3lame"}, mux: []string{"-f", "mp3"}},
	} {
		for seed := range uint64(4) {
			all[fmt.Sprintf("%s, mutation %d", name, seed)] = func(t *testing.T) []byte {
				b, random := bytes.Clone(s.make(t)), rand.New(rand.NewPCG(seed, 9))
				reach := len(b)
				if seed%2 == 0 {
					reach = min(reach, 1500) // the headers
				}
				for range 3 << seed {
					b[random.IntN(reach)] = byte(random.Uint32())
				}
				return b
			}
		}
	}
	return all
}
