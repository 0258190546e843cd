package ffmpeg_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// strictConfig has the default memory and less time than the defaults.
var strictConfig = ffmpeg.Config{Timeout: 5 * time.Second, MaxCPU: time.Second}

// maxOwnMemory is how many bytes more this process may use for one segment.
const maxOwnMemory = 32 << 20

// busyMachine is how much later a process may end when others need the CPU.
const busyMachine = 10 * time.Second

// A hostile segment may have any outcome. The command stays within its limits. In a decoder, the
// segment of another stream has its own outcome.
func TestAHostileSegmentCostsLittleAndItsNeighbourNothing(t *testing.T) {
	calm := scene{codec: keyFramesEvery("30"), black: during(1, 2)}.make(t)
	pool := newPool(t, func(c *decoder.Config) { c.Timeout = 2 * time.Second })
	decode := func(s watch.Segment, look watch.Look, segment []byte) (watch.Analysis, error) {
		a := ffmpeg.New(ffmpeg.Config{Path: noCommand, Decoder: newStream(pool)})
		return a.Analyse(t.Context(), s, look, bytes.NewReader(segment), settings)
	}
	all := mutatedSegments()
	maps.Copy(all, hostileSegments)
	for name, makeSegment := range all {
		t.Run(name, func(t *testing.T) {
			segment := makeSegment(t)
			declared := watch.Segment{Container: "mp3"} // for segments with unknown first bytes
			checkLimits(t, declared, segment)
			// A calm look decodes key frames and some of the sound, and then all of a segment that it doubts.
			closely := calmest
			closely.Measure = everything
			_, _ = decode(declared, closely, segment)
			if got, err := decode(watch.Segment{}, watch.Look{}, calm); err != nil || len(got.Intervals[detector.Blackout]) != 1 {
				t.Errorf("the next segment: %v, %v", got.Intervals, err)
			}
		})
	}
}

// checkLimits analyses a segment by the command and checks what that took. Its memory is limited
// by the kernel (TestTheConfiguredLimitsApplyToFFmpeg).
func checkLimits(t *testing.T, s watch.Segment, segment []byte) {
	t.Helper()
	c := strictConfig
	c.Path = ffmpegPath(t)
	// The test's clips would otherwise let more garbage accumulate, which counts here.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	debug.FreeOSMemory()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	res, err := ffmpeg.Run(t.Context(), ffmpeg.New(c), s, bytes.NewReader(segment), settings)
	took := time.Since(began)
	if err == nil {
		_, _, err = ffmpeg.Parse(res.Stdout, res.Stderr)
	}
	runtime.ReadMemStats(&after)
	own := int64(after.HeapSys-after.HeapReleased) - int64(before.HeapSys-before.HeapReleased)

	if f := (*watch.Failure)(nil); err != nil && !errors.As(err, &f) {
		t.Errorf("error = %v", err)
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
}

// mutatedSegments are real segments of each kind with some bytes changed.
func mutatedSegments() map[string]func(t *testing.T) []byte {
	all := map[string]func(t *testing.T) []byte{}
	for name, s := range map[string]scene{
		"H.264 in MPEG-TS": {seconds: 1},
		"HEVC in MPEG-TS":  {seconds: 1, codec: hevc},
		"H.264 in MP4":     {seconds: 1, mux: fragmentedMP4},
		"VP9 in MP4":       {seconds: 1, codec: append([]string{"-c:a", "libopus"}, vp9...), mux: fragmentedMP4},
		"AV1 in MP4":       {seconds: 1, codec: av1, mux: fragmentedMP4},
		"AAC":              {seconds: 1, codec: []string{"-vn"}, mux: []string{"-f", "adts"}},
		"MP3":              {seconds: 1, codec: []string{"-vn", "-c:a", "libmp3lame"}, mux: []string{"-f", "mp3"}},
		"Vorbis in Ogg":    {seconds: 1, codec: []string{"-vn", "-c:a", "libvorbis"}, mux: []string{"-f", "ogg"}},
		"Opus in Ogg":      {seconds: 1, codec: []string{"-vn", "-c:a", "libopus"}, mux: []string{"-f", "ogg"}},
		"FLAC in Ogg":      {seconds: 1, codec: []string{"-vn", "-c:a", "flac"}, mux: []string{"-f", "ogg"}},
	} {
		for seed := range uint64(2) {
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
