package ffmpeg_test

import (
	"bytes"
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Limits under test. Time is less than the defaults, memory is the default.
var cautious = ffmpeg.Config{Timeout: 5 * time.Second, MaxCPU: 2 * time.Second}

// ourOwn is how many bytes this process may come to need more for one segment.
const ourOwn = 32 << 20

// What strangers may send. Whatever comes of it, it ends within its limits.
func TestHostileSegments(t *testing.T) {
	var worst struct {
		memory, own int64
		cpu, took   time.Duration
	}
	for _, group := range []map[string]func(t *testing.T) []byte{hostileSizes, hostileMP4, hostileTS, hostileAudio, hostileTimes, mutants()} {
		for name, forge := range group {
			t.Run(name, func(t *testing.T) {
				memory, own, cpu, took := survived(t, forge(t))
				worst.memory, worst.own = max(worst.memory, memory), max(worst.own, own)
				worst.cpu, worst.took = max(worst.cpu, cpu), max(worst.took, took)
			})
		}
	}
	t.Logf("at worst: ffmpeg %d MB, this process %d MB more, %v of CPU, %v",
		worst.memory>>20, worst.own>>20, worst.cpu.Round(time.Millisecond), worst.took.Round(time.Millisecond))
}

// survived has a segment analysed and checks what that took.
func survived(t *testing.T, segment []byte) (memory, own int64, cpu, took time.Duration) {
	t.Helper()
	c := cautious
	c.Path = tool(t)
	// Garbage counts too, but not as much of it as the test's own clips allow for.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	debug.FreeOSMemory()
	resident := peak(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	s := watch.Segment{Container: "mp3"} // for those whose own bytes do not tell
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
	if res.CPUTime > c.MaxCPU+3*time.Second/2 {
		t.Errorf("ffmpeg had %v of CPU", res.CPUTime)
	}
	if took > c.Timeout+3*time.Second { // the time to end politely
		t.Errorf("took %v", took)
	}
	if own > ourOwn {
		t.Errorf("this process needs %d MB more", own>>20)
	}
	noChildren(t)
	return memory, own, res.CPUTime, took
}
