package ffmpeg

import (
	"bytes"
	"context"
	"io"
	"maps"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// TrackAnalysis is a track with the intervals of its first detector.
type TrackAnalysis struct {
	watch.Track

	Bad []watch.Interval
}

// Parse parses the output of a recorded or made-up run.
func Parse(stdout, stderr []byte) (video, audio TrackAnalysis, err error) {
	found, err := parse(stdout, stderr)
	return TrackAnalysis{found.video, found.intervals[detector.Blackout]}, TrackAnalysis{found.audio, found.intervals[detector.Silence]}, err
}

// Intervals returns what each detector found in the output of a run.
func Intervals(stdout, stderr []byte) (map[detector.Name][]watch.Interval, error) {
	found, err := parse(stdout, stderr)
	return found.intervals, err
}

// Arguments returns those of every run.
func Arguments(setting Settings, demuxer string, maxPixels int64) []string {
	return arguments(setting, demuxer, maxPixels)
}

// HasFilter reports whether ffmpeg can run a detector.
func HasFilter(name detector.Name) bool {
	_, ok := filters[name]
	return ok
}

// AddFilter adds a filter to the table until the test ends.
func AddFilter(t interface{ Cleanup(func()) }, name detector.Name, expression func(Settings) string, startKey, endKey string) {
	before := maps.Clone(filters)
	t.Cleanup(func() { filters = before })
	filters[name] = filter{expression: expression, startKey: startKey, endKey: endKey}
}

// DetectContainer returns the demuxer for b.
func DetectContainer(b []byte, declared string) (string, error) {
	return detectContainer(newInput(bytes.NewReader(b), DefaultMaxInput, nil), watch.Segment{Container: declared})
}

// Run runs ffmpeg like Analyse and returns its output and what it used.
func Run(ctx context.Context, a *Analyser, s watch.Segment, body io.Reader, silenceDB float64) (subprocess.Result, error) {
	return a.run(ctx, s, body, func(string) float64 { return silenceDB })
}
