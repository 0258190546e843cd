package ffmpeg_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestASegmentThatNeverEndsIsGivenUp(t *testing.T) {
	ts := scene{}.make(t)
	null := append([]byte{0x47, 0x1f, 0xff, 0x10}, make([]byte, 184)...)
	for name, c := range map[string]struct {
		body  io.Reader
		limit int64
	}{
		"pictures without end":             {&endless{ts}, 1 << 20},
		"200 MB of filler after a segment": {io.MultiReader(bytes.NewReader(ts), io.LimitReader(&endless{null}, 200<<20)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := ffmpeg.New(ffmpeg.Config{Path: tool(t), MaxInput: c.limit})
			failed(t, a, c.body, watch.FailureTooLarge)
		})
	}
}

// endless repeats something.
type endless struct{ what []byte }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.what)
	e.what = append(e.what[n:len(e.what):len(e.what)], e.what[:n]...)
	return n, nil
}

func TestOutputThatWasCutOffIsNotBelieved(t *testing.T) {
	a := ffmpeg.New(ffmpeg.Config{Path: tool(t), MaxOutput: 4 << 10})
	failed(t, a, bytes.NewReader(scene{}.make(t)), watch.FailureUndecodable)
}

func TestASegmentAsLargeAsTheLimitIsTaken(t *testing.T) {
	ts := scene{}.make(t)
	size := int64(len(ts))
	a := ffmpeg.New(ffmpeg.Config{Path: tool(t), MaxInput: size})
	if _, err := a.Analyse(t.Context(), watch.Segment{}, bytes.NewReader(ts), settings); err != nil {
		t.Errorf("Analyse: %v", err)
	}
	t.Run("but not one a byte larger", func(t *testing.T) {
		failed(t, ffmpeg.New(ffmpeg.Config{Path: tool(t), MaxInput: size - 1}), bytes.NewReader(ts), watch.FailureTooLarge)
	})
}

func TestNegativeLimitsMeanTheDefaults(t *testing.T) {
	a := ffmpeg.New(ffmpeg.Config{Path: tool(t), Timeout: -1, MaxInput: -1, MaxOutput: -1})
	if _, err := a.Analyse(t.Context(), watch.Segment{}, bytes.NewReader(scene{}.make(t)), settings); err != nil {
		t.Errorf("Analyse: %v", err)
	}
}
