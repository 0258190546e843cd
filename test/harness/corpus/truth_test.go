package corpus_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

// How far the truth of the table may be from what the definitions make of the
// clip's own frames and samples, in seconds.
const (
	cutError  = 1e-6         // a cut is between two frames
	fadeError = 0.02         // of a fade's length: the encoder's rounding is worth two steps of luma
	aacError  = 1024. / 48e3 // a frame of AAC: what its transform smears an edge over
)

// TestTheTruthIsWhatTheDefinitionsSay counts pixels and samples with a few
// lines of its own: it knows neither the detectors nor the code that uses
// them.
func TestTheTruthIsWhatTheDefinitionsSay(t *testing.T) {
	l := library(t)
	slots := make(chan struct{}, 2)
	for _, i := range corpus.Items() {
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			c, err := l.Clip(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			if lost(i) != corpus.Black {
				same(t, corpus.Black, blackOf(t, l, c), i, cutError)
			}
			if lost(i) != corpus.Silent {
				same(t, corpus.Silent, silenceOf(t, l, c), i, aacError)
			}
		})
	}
}

func lost(i corpus.Item) corpus.Condition {
	if i.Lost == nil {
		return ""
	}
	return i.Lost.Of
}

func same(t *testing.T, of corpus.Condition, got [][2]float64, i corpus.Item, tolerance float64) {
	t.Helper()
	var want []corpus.Stretch
	for _, s := range i.Truth {
		if s.Of == of {
			want = append(want, s)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s in %.3f, the table says %s", of, got, list(want))
		return
	}
	for n, s := range want {
		may := tolerance + fadeError*s.Fade
		if s.Fade > 0 {
			may += 1. / corpus.Rate
		}
		if math.Abs(got[n][0]-s.From) > may || math.Abs(got[n][1]-s.To) > may {
			t.Errorf("%s from %.3f to %.3f, the table says %s ± %.3f", of, got[n][0], got[n][1], list(want[n:n+1]), may)
		}
	}
}

func list(all []corpus.Stretch) string {
	var out []string
	for _, s := range all {
		out = append(out, fmt.Sprintf("%.3f to %.3f", s.From, s.To))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// blackOf counts, in each frame, the pixels that are at most 10 % bright.
func blackOf(t *testing.T, l *corpus.Library, c corpus.Clip) (parts [][2]float64) {
	t.Helper()
	limit, width := c.Item.DarkLuma(), 1
	if c.Item.Bits() > 8 {
		width = 2
	}
	pixels := corpus.Width * corpus.Height
	planes := decode(t, l, c, "-map", "0:v", "-vf", "extractplanes=y", "-f", "rawvideo")
	frames := len(planes) / (pixels * width)
	if want := int(math.Round(c.Item.Length * corpus.Rate)); frames != want {
		t.Errorf("%d frames, expected %d", frames, want)
	}
	since := -1
	for n := range frames + 1 {
		dark := 0
		for p := n * pixels; n < frames && p < (n+1)*pixels; p++ {
			luma := int(planes[p*width])
			if width == 2 {
				luma |= int(planes[2*p+1]) << 8
			}
			if luma <= limit {
				dark++
			}
		}
		switch black := float64(dark) >= 0.98*float64(pixels); {
		case black && since < 0:
			since = n
		case !black && since >= 0:
			if n-since >= 3 { // 0.1 s
				parts = append(parts, [2]float64{float64(since) / corpus.Rate, float64(n) / corpus.Rate})
			}
			since = -1
		}
	}
	return parts
}

// silenceOf looks for half a second without a sample above −50 dBFS.
func silenceOf(t *testing.T, l *corpus.Library, c corpus.Clip) (parts [][2]float64) {
	t.Helper()
	const (
		shortest = corpus.SampleRate / 2
		priming  = 1024 // samples that the encoder puts before the first
	)
	limit := math.Pow(10, -50./20)
	samples := decode(t, l, c, "-map", "0:a", "-f", "f32le")
	count := len(samples) / 8
	at := func(n int) float64 { return max(0, float64(n-priming)/corpus.SampleRate) }
	since := -1
	for n := range count + 1 {
		silent := false
		if n < count {
			left := math.Float32frombits(binary.LittleEndian.Uint32(samples[8*n:]))
			right := math.Float32frombits(binary.LittleEndian.Uint32(samples[8*n+4:]))
			silent = math.Abs(float64(left)) < limit && math.Abs(float64(right)) < limit
		}
		switch {
		case silent && since < 0:
			since = n
		case !silent && since >= 0:
			if n-since >= shortest {
				parts = append(parts, [2]float64{at(since), at(n)})
			}
			since = -1
		}
	}
	return parts
}

// decode plays a clip's segments one after the other into ffmpeg.
func decode(t *testing.T, l *corpus.Library, c corpus.Clip, to ...string) []byte {
	t.Helper()
	var clip, out, problems bytes.Buffer
	for _, s := range c.Segments {
		clip.Write(s.Bytes)
	}
	cmd := exec.CommandContext(t.Context(), l.FFmpeg(), append(append([]string{"-v", "error", "-f", "mpegts", "-i", "pipe:0"}, to...), "pipe:1")...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &clip, &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("decode %q: %v\n%s", c.Item.Name, err, &problems)
	}
	return out.Bytes()
}
