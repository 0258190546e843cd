package ffmpeg

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// TrackResult is a track with the intervals of its detector of the specification.
type TrackResult struct {
	detector.DecodedTrack

	Found []detector.Interval
}

// Results returns the tracks of an analysis: video with black, audio with silence.
func Results(a watch.Analysis) (video, audio TrackResult) {
	return TrackResult{a.Video, a.Intervals[detector.Blackout]}, TrackResult{a.Audio, a.Intervals[detector.Silence]}
}

// Parse parses the output of a recorded or made-up run.
func Parse(stdout, stderr []byte) (video, audio TrackResult, err error) {
	found, err := parse(stdout, stderr, false)
	video, audio = Results(found.Analysis)
	return video, audio, err
}

// ParseMeasures parses the measures of a run.
func ParseMeasures(stdout, stderr []byte) ([]watch.Measure, error) {
	found, err := parse(stdout, stderr, false)
	return found.Measures, err
}

// Arguments returns those of every run.
func Arguments(setting Settings, demuxer string, maxPixels int64) []string {
	return arguments(setting, demuxer, maxPixels, false)
}

// ArgumentsWithoutMeasures returns those of a run that measures nothing.
func ArgumentsWithoutMeasures(setting Settings, demuxer string, maxPixels int64) []string {
	all := arguments(setting, demuxer, maxPixels, false)
	for i, arg := range all {
		arg = strings.Replace(arg, measureVideo, ",select=0", 1)
		all[i] = strings.Replace(arg, measureAudio, ",aselect=0", 1)
	}
	return all
}

// HasFilter reports whether ffmpeg can run a detector.
func HasFilter(name detector.Name) bool {
	_, ok := filters[name]
	return ok
}

// DetectContainer returns the demuxer for b.
func DetectContainer(b []byte, declared string) (string, error) {
	return detectContainer(newInput(bytes.NewReader(b), DefaultMaxInput, nil), watch.Segment{Container: declared})
}

// Run runs ffmpeg like Analyse and returns its output and what it used.
func Run(ctx context.Context, a *Analyser, s watch.Segment, body io.Reader, setting Settings) (subprocess.Result, error) {
	return a.run(ctx, s, false, body, setting)
}
