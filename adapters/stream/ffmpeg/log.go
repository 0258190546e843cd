package ffmpeg

import (
	"iter"
	"maps"
	"regexp"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// parse reads the output of ffmpeg: stdout has the printed video frames, stderr the
// printed audio frames and the log. Its error is a *watch.Failure: tool, if ffmpeg
// could not run the command; otherwise undecodable.
func parse(stdout, stderr []byte, keyFrames bool) (seen, error) {
	video := frames(stdout, ofTrack(detector.Video), lumaKey)
	audio := frames(stderr, ofTrack(detector.Audio), levelKey)
	a := assemble(video, audio, keyFrames, false)
	if !a.Video.Present && !a.Audio.Present {
		return seen{}, logFailure(stderr)
	}
	shiftToZero(&a.Analysis)
	a.damaged = keyFrames && damaged(stderr)
	a.announce(announced(stderr))
	return a, nil
}

// assemble judges the frames of both tracks, which may be screened. A track without frames is not
// Present.
func assemble(video, audio iter.Seq[printed], videoScreened, audioScreened bool) seen {
	read := func(track detector.Track, output iter.Seq[printed], screened bool) decodedTrack {
		if screened {
			return readScreen(track, output)
		}
		return readTrack(track, output, ofTrack(track))
	}
	picture, sound := read(detector.Video, video, videoScreened), read(detector.Audio, audio, audioScreened)
	a := seen{
		Analysis: watch.Analysis{Video: picture.DecodedTrack, Audio: sound.DecodedTrack, Intervals: intervals{}, Measures: measures(picture.samples, sound.samples)},
		videoGap: picture.gap, audioGap: sound.gap,
	}
	maps.Copy(a.Intervals, picture.found)
	maps.Copy(a.Intervals, sound.found)
	return a
}

// shiftToZero makes a negative first time zero. ffmpeg's zero is the first
// timestamp in the container's order, and a decoder may output an earlier frame.
func shiftToZero(a *watch.Analysis) {
	first := min(a.Video.From, a.Audio.From, 0)
	for _, t := range []*detector.DecodedTrack{&a.Video, &a.Audio} {
		if t.Present {
			t.From, t.To = t.From-first, t.To-first
		}
	}
	for _, found := range a.Intervals {
		for i := range found {
			found[i].From, found[i].To = found[i].From-first, found[i].To-first
		}
	}
	for i := range a.Measures {
		a.Measures[i].At -= first
	}
	for i := range a.Measured.Pictures {
		a.Measured.Pictures[i].At -= first
	}
	for i := range a.Measured.Movement {
		a.Measured.Movement[i].At -= first
	}
	if d := a.Measured.Damage; d != nil {
		for i := range d.Intervals {
			d.Intervals[i].From, d.Intervals[i].To = d.Intervals[i].From-first, d.Intervals[i].To-first
		}
	}
}

// streamLine is how the log lists a track, of the input as of the output:
//
//	Stream #0:0[0x100]: Video: h264 (High) ([27][0][0][0] / 0x001B), yuv420p, 256x144
var streamLine = regexp.MustCompile(`^\s*Stream #0:\d+[^ ]*: (Video|Audio): `)

// announced returns which tracks the container announces, decodable or not.
func announced(log []byte) (video, audio bool) {
	for line := range lines(log) {
		if strings.HasPrefix(line, "Stream mapping:") {
			break // the outputs of our own command follow
		}
		m := streamLine.FindStringSubmatch(line)
		if m == nil || strings.Contains(line, "(attached pic)") {
			continue
		}
		video = video || m[1] == "Video"
		audio = audio || m[1] == "Audio"
	}
	return video, audio
}

// commandErrors are errors about the command, not about the segment.
var commandErrors = []string{
	"error while loading shared libraries",
	"Unrecognized option",
	"Option not found",
	"No such filter",
	"Unknown input format",
	"Requested output format",
	"Protocol not found",
}

// missingDecoder matches the error of an ffmpeg that was built without a decoder
// for a codec. ffmpeg calls an unknown codec none.
var missingDecoder = regexp.MustCompile(`Decoder \(codec [^)]*\) not found`)

// logFailure returns the Failure of a run without a single frame. Its detail is the
// last error in the log, or the last line if nothing is called an error.
func logFailure(log []byte) error {
	last, isError := "ffmpeg did not say why", false
	for line := range lines(log) {
		message := readable(line)
		for _, text := range commandErrors {
			if strings.Contains(line, text) {
				return watch.NewFailure(watch.FailureTool, "ffmpeg cannot do this: %s: version 5.1 or newer is needed, with the usual filters", message)
			}
		}
		if missing := missingDecoder.FindString(line); missing != "" && !strings.Contains(missing, "(codec none)") {
			return watch.NewFailure(watch.FailureTool, "this ffmpeg was built without a decoder that the stream needs: %s", missing)
		}
		if names := strings.Contains(message, "rror"); message != "" && !isFinalLine(message) && (names || !isError) {
			last, isError = message, names
		}
	}
	return watch.NewFailure(watch.FailureUndecodable, "%s", last)
}

// isFinalLine reports whether ffmpeg ends its log with the line whatever the error
// was.
func isFinalLine(message string) bool {
	for _, prefix := range []string{"Conversion failed", "Last message repeated", "frame=", "size=", "video:", "Output file is empty", "Error opening input", "Error marking filters"} {
		if strings.HasPrefix(message, prefix) {
			return true
		}
	}
	return false
}

// maxMessage is the largest part of a log line that a failure quotes, in bytes.
const maxMessage = 200

// logPrefix is the component that wrote a log line, possibly nested:
//
//	[h264 @ 0x55d08c833c00]
var logPrefix = regexp.MustCompile(`^(\[[^\]]* @ 0x[0-9a-f]+\] *)+`)

// readable returns a log line without its prefix and without unprintable
// characters, which it may quote from the segment.
func readable(line string) string {
	line = monitor.CleanLine(logPrefix.ReplaceAllString(line, ""))
	if len(line) > maxMessage {
		line = strings.ToValidUTF8(line[:maxMessage], "") + "…"
	}
	return line
}
