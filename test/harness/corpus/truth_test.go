package corpus_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// library opens the library with the shared cache of this machine.
func library(t *testing.T) *corpus.Library {
	t.Helper()
	l, err := corpus.Open(corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAnAlertIsExpectedExactlyFromTheThresholdOn(t *testing.T) {
	for _, i := range corpus.Items() {
		for _, s := range i.Truth {
			if s.Alert != (s.Duration() >= corpus.Threshold) || s.To > i.Length {
				t.Errorf("%s: %+v lasts %v of %v s, the threshold is %v", i.Name, s, s.Duration(), i.Length, corpus.Threshold)
			}
		}
	}
}

// The largest difference between an item's truth and its clip, in seconds.
const (
	cutError  = 1e-6         // a cut is between two frames
	fadeError = 0.02         // of a fade's length: two steps of luma, by which the encoder's rounding may be wrong
	aacError  = 1024. / 48e3 // one AAC frame, over which the codec spreads an edge
)

var whole = flag.Bool("whole", false, "compare every clip with its truth, not a sample")

// The test counts pixels and samples itself. It uses neither the detectors nor the
// product's code. "make quality" runs it for the whole corpus.
func TestEachClipIsBadExactlyWhenItsItemSays(t *testing.T) {
	l, items := library(t), corpus.Sample()
	if *whole {
		items = corpus.Items()
	}
	for _, i := range items {
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			c, err := l.Clip(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			if missingTrack(i) != corpus.Black {
				checkIntervals(t, corpus.Black, blackIntervals(t, l, c), i, cutError)
			}
			if missingTrack(i) != corpus.Silent {
				checkIntervals(t, corpus.Silent, silentIntervals(t, l, c), i, aacError)
			}
		})
	}
}

// missingTrack returns the condition of the item's missing track, or an empty string.
func missingTrack(i corpus.Item) corpus.Condition {
	if i.Missing == nil {
		return ""
	}
	return i.Missing.Of
}

// checkIntervals compares intervals with the truth of the item.
func checkIntervals(t *testing.T, of corpus.Condition, got [][2]float64, i corpus.Item, tolerance float64) {
	t.Helper()
	var want []corpus.BadInterval
	for _, s := range i.Truth {
		if s.Of == of {
			want = append(want, s)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s in %.3f, the item says %s", of, got, list(want))
		return
	}
	for n, s := range want {
		limit := tolerance + fadeError*s.Fade
		if s.Fade > 0 {
			limit += 1. / corpus.Rate
		}
		if math.Abs(got[n][0]-s.From) > limit || math.Abs(got[n][1]-s.To) > limit {
			t.Errorf("%s from %.3f to %.3f, the item says %s ± %.3f", of, got[n][0], got[n][1], list(want[n:n+1]), limit)
		}
	}
}

func list(all []corpus.BadInterval) string {
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprintf("%.3f to %.3f", s.From, s.To))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// blackIntervals counts, in each frame, the pixels that are at most 10 % bright.
func blackIntervals(t *testing.T, l *corpus.Library, c corpus.Clip) (found [][2]float64) {
	t.Helper()
	const (
		pixels   = corpus.Width * corpus.Height
		shortest = 3 // frames: 0.1 s
	)
	bytesPerPixel := 1
	if c.Item.Bits() > 8 {
		bytesPerPixel = 2
	}
	limit := c.Item.DarkLuma()
	frames, start := 0, -1
	add := func(black bool) {
		switch {
		case black && start < 0:
			start = frames
		case !black && start >= 0:
			if frames-start >= shortest {
				found = append(found, [2]float64{float64(start) / corpus.Rate, float64(frames) / corpus.Rate})
			}
			start = -1
		}
	}
	decode(t, l, c, pixels*bytesPerPixel, func(plane []byte) {
		add(float64(darkPixels(plane, bytesPerPixel, limit)) >= 0.98*pixels)
		frames++
	}, "-map", "0:v", "-vf", "extractplanes=y", "-f", "rawvideo")
	add(false)
	if want := int(math.Round(c.Item.Length * corpus.Rate)); frames != want {
		t.Errorf("%d frames, want %d", frames, want)
	}
	return found
}

// darkPixels counts the pixels with a luma of at most limit. Its loops have no
// branches, because grain makes them hard to predict.
func darkPixels(plane []byte, bytesPerPixel, limit int) (dark int) {
	above := uint64(limit) + 1
	if bytesPerPixel == 1 {
		for _, luma := range plane {
			dark += int((uint64(luma) - above) >> 63)
		}
		return dark
	}
	for p := 0; p+1 < len(plane); p += 2 {
		dark += int((uint64(binary.LittleEndian.Uint16(plane[p:])) - above) >> 63)
	}
	return dark
}

// silentIntervals looks for half a second without a sample above −50 dBFS.
func silentIntervals(t *testing.T, l *corpus.Library, c corpus.Clip) (found [][2]float64) {
	t.Helper()
	const (
		shortest    = corpus.SampleRate / 2
		priming     = 1024 // samples that the encoder puts before the first
		sampleBytes = 8    // of both channels
	)
	limit := math.Pow(10, -50./20)
	seconds := func(n int) float64 { return max(0, float64(n-priming)/corpus.SampleRate) }
	count, start := 0, -1
	add := func(silent bool) {
		switch {
		case silent && start < 0:
			start = count
		case !silent && start >= 0:
			if count-start >= shortest {
				found = append(found, [2]float64{seconds(start), seconds(count)})
			}
			start = -1
		}
	}
	decode(t, l, c, 4096*sampleBytes, func(samples []byte) {
		for ; len(samples) >= sampleBytes; samples = samples[sampleBytes:] {
			left := math.Float32frombits(binary.LittleEndian.Uint32(samples))
			right := math.Float32frombits(binary.LittleEndian.Uint32(samples[4:]))
			add(math.Abs(float64(left)) < limit && math.Abs(float64(right)) < limit)
			count++
		}
	}, "-map", "0:a", "-f", "f32le")
	add(false)
	return found
}

// decode feeds a clip's segments to one ffmpeg. It passes the output to handle in
// pieces of size bytes; the last may be shorter.
func decode(t *testing.T, l *corpus.Library, c corpus.Clip, size int, handle func([]byte), output ...string) {
	t.Helper()
	var clip, stderr bytes.Buffer
	for _, s := range c.Segments {
		clip.Write(s.Bytes)
	}
	args := append([]string{"-v", "error", "-threads", "1", "-f", "mpegts", "-i", "pipe:0"}, output...)
	cmd := exec.CommandContext(t.Context(), l.FFmpeg(), append(args, "pipe:1")...)
	cmd.Stdin, cmd.Stderr = &clip, &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("decode %q: %v", c.Item.Name, err)
	}
	unit, buffered := make([]byte, size), bufio.NewReaderSize(out, 256<<10)
	for {
		n, err := io.ReadFull(buffered, unit)
		if n > 0 {
			handle(unit[:n])
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("decode %q: %v\n%s", c.Item.Name, err, &stderr)
	}
}

func TestALossRemovesThePacketsOfOneTrackInItsSegmentsOnly(t *testing.T) {
	l := library(t)
	for _, i := range corpus.Items() {
		if i.Missing == nil {
			continue
		}
		t.Run(i.Name, func(t *testing.T) {
			c, err := l.Clip(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range c.Segments {
				at := s.Start.Seconds()
				lost := at >= i.Missing.From && at < i.Missing.To
				tracks, media := countTracks(s.Bytes)
				want := 2
				if lost && !i.Missing.Announced {
					want = 1
				}
				if tracks != want {
					t.Errorf("segment at %v s: %d tracks are announced, want %d", at, tracks, want)
				}
				if want = 2; lost {
					want = 1
				}
				if media != want {
					t.Errorf("segment at %v s: %d tracks have packets, want %d", at, media, want)
				}
			}
		})
	}
}

// countTracks returns how many tracks the program map table (PID 0x1000) of an
// MPEG-TS announces, and how many tracks have packets.
func countTracks(ts []byte) (announced, media int) {
	pids := map[int]bool{}
	for ; len(ts) >= 188; ts = ts[188:] {
		switch pid := int(ts[1]&0x1f)<<8 | int(ts[2]); {
		case pid == 0x1000:
			section := ts[5:]
			end := 3 + (int(section[1]&0xf)<<8 | int(section[2])) - 4 // before its checksum
			announced = 0
			for at := 12 + (int(section[10]&0xf)<<8 | int(section[11])); at < end; announced++ {
				at += 5 + (int(section[at+3]&0xf)<<8 | int(section[at+4]))
			}
		case pid >= 0x100 && pid < 0x1000:
			pids[pid] = true
		}
	}
	return announced, len(pids)
}
