package ffmpeg_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/harness/testtools"
)

// decoderPath is the program that the tests use. Without it they fail.
var decoderPath = sync.OnceValues(testtools.Decoder)

// newPool returns a pool of one process, which the test ends. change sets its limits.
func newPool(tb testing.TB, change func(*decoder.Config)) *decoder.Pool {
	tb.Helper()
	path, err := decoderPath()
	if err != nil {
		tb.Fatal(err)
	}
	c := decoder.Config{Path: path, Files: []string{}, Processes: 1, Timeout: patience}
	if change != nil {
		change(&c)
	}
	p := decoder.New(c, slog.New(slog.DiscardHandler))
	tb.Cleanup(p.Close)
	return p
}

func newStream(p *decoder.Pool) *decoder.Stream { return p.Stream(slog.New(slog.DiscardHandler)) }

// sameAsCommand is how far the times of the decoder may be from those of the command.
const sameAsCommand = 50 * time.Millisecond

// noCommand is no ffmpeg: an Analyser with it answers only what its decoder answers.
const noCommand = "/nonexistent/ffmpeg"

// checkDecoder compares what the command found in a segment with what a decoder finds. It
// returns false if the decoder left the segment to the command.
func checkDecoder(t *testing.T, calm watch.Look, segment []byte, want watch.Analysis) bool {
	t.Helper()
	pool := newPool(t, nil)
	defer pool.Close()
	got, err := ffmpeg.New(ffmpeg.Config{Path: noCommand, Timeout: patience, Decoder: newStream(pool)}).Analyse(t.Context(), watch.Segment{}, calm, bytes.NewReader(segment), settings)
	if err != nil {
		return false
	}
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if (got - want).Abs() > sameAsCommand {
			t.Errorf("the decoder has %s %v, the command %v", what, got, want)
		}
	}
	for name, tracks := range map[string][2]detector.DecodedTrack{"video": {got.Video, want.Video}, "audio": {got.Audio, want.Audio}} {
		if name == "audio" && tracks[0].Screened {
			continue // by the decoder only; what may hide is checked below
		}
		if tracks[0].Screened != tracks[1].Screened {
			t.Errorf("%s is screened: the decoder says %v, the command %v", name, tracks[0].Screened, tracks[1].Screened)
		}
		if tracks[0].Present != tracks[1].Present {
			t.Errorf("%s is present: the decoder says %v, the command %v", name, tracks[0].Present, tracks[1].Present)
		}
		near(name+" from", tracks[0].From, tracks[1].From)
		near(name+" to", tracks[0].To, tracks[1].To)
	}
	for _, name := range []detector.Name{detector.Blackout, detector.Silence} {
		found, expected := got.Intervals[name], want.Intervals[name]
		if name == detector.Silence && got.Audio.Screened {
			expected = slices.DeleteFunc(slices.Clone(expected), func(i detector.Interval) bool { return i.To-i.From < seconds(0.5) })
		}
		if len(found) != len(expected) {
			t.Errorf("%s: the decoder found %v, the command %v", name, found, expected)
			continue
		}
		end, wantEnd := got.Video.To, want.Video.To
		if name == detector.Silence {
			end, wantEnd = got.Audio.To, want.Audio.To
		}
		for i := range found {
			near(string(name)+" from", found[i].From, expected[i].From)
			near(string(name)+" to", found[i].To, expected[i].To)
			if (found[i].To == end) != (expected[i].To == wantEnd) {
				t.Errorf("%s: the decoder ends %v with the track at %v, the command %v at %v", name, found[i], end, expected[i], wantEnd)
			}
		}
	}
	compareMeasures(t, got.Measures, want.Measures)
	return true
}

// compareMeasures compares luma and level, which are for the record only.
func compareMeasures(t *testing.T, got, want []watch.Measure) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("the decoder measured %d seconds, the command %d", len(got), len(want))
		return
	}
	same := func(what string, got, want *float64, tolerance float64) {
		t.Helper()
		// Rounding decides which of two pictures that are a second apart are measured.
		if got != nil && want != nil && max(*got-*want, *want-*got) > tolerance {
			t.Errorf("%s: the decoder measured %v, the command %v", what, *got, *want)
		}
	}
	for i := range got {
		same("luma", got[i].Luma, want[i].Luma, 1)
		same("level", got[i].Level, want[i].Level, 0.5)
	}
}

// A decoder that fails changes no verdict.
func TestTheCommandDecidesWhenTheDecoderDoesNot(t *testing.T) {
	// A program that answers at its start that one byte is unusual.
	const works = `head -c 73 >/dev/null; printf 'SDA3\001\000\000\000\000\000\000\000\001\000\000\000u'; `
	segment := scene{black: during(1, 9)}.make(t)
	for name, path := range map[string]string{
		"not installed":    filepath.Join(t.TempDir(), "segment-decoder"),
		"another program":  fakeFFmpeg(t, "cat"),
		"ends at once":     fakeFFmpeg(t, "exit 127"),
		"never answers":    fakeFFmpeg(t, "cat >/dev/null; sleep 600"),
		"crashes":          fakeFFmpeg(t, works+"head -c 1000 >/dev/null; kill -SEGV $$"),
		"answers nonsense": fakeFFmpeg(t, works+"printf 'SDA3\000\000\000\000\000\000\000\000\377\377\377\177'; cat >/dev/null"),
		"hangs":            fakeFFmpeg(t, works+"cat >/dev/null; sleep 600"),
	} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, func(c *decoder.Config) { c.Path, c.Timeout = path, 300*time.Millisecond })
			c := realTool(t)
			c.Decoder = newStream(pool)
			if got := look(t, c, watch.Look{}, segment); len(got.Intervals[detector.Blackout]) != 1 {
				t.Errorf("found %v", got.Intervals)
			}
			pool.Close()
			checkNoSubprocess(t)
		})
	}
	t.Run("too large for a decoder", func(t *testing.T) {
		null := append([]byte{0x47, 0x1f, 0xff, 0x10}, make([]byte, 184)...)
		c := realTool(t)
		c.Decoder = newStream(newPool(t, nil))
		if got := look(t, c, watch.Look{}, slices.Concat(segment, bytes.Repeat(null, decoder.MaxMedia/188+1))); len(got.Intervals[detector.Blackout]) != 1 {
			t.Errorf("found %v", got.Intervals)
		}
	})
}

func TestABodyFailsTheSameWithADecoder(t *testing.T) {
	c := ffmpeg.Config{Path: noCommand, Timeout: patience, Decoder: newStream(newPool(t, nil)), MaxInput: 100_000}
	analyseFails(t, ffmpeg.New(c), bytes.NewReader(make([]byte, 200_000)), watch.FailureUndecodable)
	segment := scene{}.make(t)
	c.MaxInput = int64(len(segment) - 1)
	analyseFails(t, ffmpeg.New(c), bytes.NewReader(segment), watch.FailureTooLarge)
	c.MaxInput, c.Timeout = 0, 100*time.Millisecond
	stalled, _ := io.Pipe()
	analyseFails(t, ffmpeg.New(c), stalled, watch.FailureNetwork)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the watch ended")
	cancel(cause)
	if _, err := ffmpeg.New(c).Analyse(ctx, watch.Segment{}, watch.Look{}, bytes.NewReader(segment), settings); !errors.Is(err, cause) {
		t.Errorf("error = %v", err)
	}
}

// A segment of half an hour is no usual one, but the decoder answers for it.
func TestADecoderAnswersForAsManyFramesAsItsLimitSays(t *testing.T) {
	second := encode(t, "-f", "lavfi", "-i", "anullsrc=r=48000:cl=mono:d=1", "-c:a", "aac", "-f", "adts")
	pool := newPool(t, func(c *decoder.Config) { c.Timeout, c.Share = time.Minute, time.Minute })
	analyser := ffmpeg.New(ffmpeg.Config{Path: noCommand, Timeout: time.Minute, Decoder: newStream(pool)})
	for times, ok := range map[int]bool{1700: true, 2200: false} { // about 48 frames each, and a sixth of them measured
		_, err := analyser.Analyse(t.Context(), watch.Segment{}, watch.Look{}, bytes.NewReader(bytes.Repeat(second, times)), settings)
		if (err == nil) != ok {
			t.Errorf("%d seconds: %v", times, err)
		}
	}
}
