package ffmpeg

import (
	"bytes"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// frame is one decoded frame as metadata=print and ametadata=print print it:
//
//	frame:187  pts:191488  pts_time:3.98933
//	lavfi.silence_start=3.90406
//	a=1
type frame struct {
	number int       // from 0; starts again when the format of the track changes
	pts    timestamp // presentation time
	tags   []tag     // one for each filter of the track, in their order
}

// printed is what one frame line begins: a decoded frame, or the measurement of one
// that was printed before.
type printed struct {
	frame

	measured bool
	value    float64 // of a measurement: luma from 0 to 255, or level in dBFS, -Inf for digital silence
}

// tag is the metadata of one detector on one frame.
type tag struct {
	start, end timestamp // an interval begins, ends; unset: it does not
}

// timestamp is a time within the segment. It is unset if ffmpeg printed none, or
// one beyond maxSeconds.
type timestamp struct {
	time.Duration
	set bool
}

// frames reads printed frames and measurements, whose metadata key is measureKey. The
// tags of a frame are valid until the next one. Log lines may stand between the
// lines, and before a printed line within the same line: newer versions of ffmpeg
// write the log from other threads.
func frames(output []byte, chain []trackFilter, measureKey string) iter.Seq[printed] {
	return func(yield func(printed) bool) {
		f := printed{frame: frame{tags: make([]tag, len(chain))}}
		begun := false
		for line := range lines(output) {
			if number, pts, ok := parseFrame(line); ok {
				if begun && !yield(f) {
					return
				}
				f.number, f.pts, f.measured, begun = number, pts, false, true
				clear(f.tags)
				continue
			}
			if value, ok := parseMeasurement(line, measureKey); ok {
				f.value, f.measured = value, true
				continue
			}
			for i, filter := range chain {
				if t := parseTag(line, filter.startKey); t.set {
					f.tags[i].start = t
				}
				if t := parseTag(line, filter.endKey); t.set {
					f.tags[i].end = t
				}
			}
		}
		if begun {
			yield(f)
		}
	}
}

func parseFrame(line string) (number int, pts timestamp, ok bool) {
	at := strings.LastIndex(line, "frame:")
	if at < 0 {
		return 0, timestamp{}, false
	}
	fields := strings.Fields(line[at:])
	if len(fields) != 3 || !strings.HasPrefix(fields[1], "pts:") || !strings.HasPrefix(fields[2], "pts_time:") {
		return 0, timestamp{}, false
	}
	number, err := strconv.Atoi(fields[0][len("frame:"):])
	if err != nil || number < 0 {
		return 0, timestamp{}, false
	}
	return number, parseTimestamp(fields[2][len("pts_time:"):]), true
}

func parseTag(line, key string) timestamp {
	at := strings.LastIndex(line, key+"=")
	if at < 0 {
		return timestamp{}
	}
	return parseTimestamp(line[at+len(key)+1:])
}

// parseMeasurement reads a number after key. ffmpeg prints -inf for digital silence.
func parseMeasurement(line, key string) (value float64, ok bool) {
	at := strings.LastIndex(line, key+"=")
	if at < 0 {
		return 0, false
	}
	value, err := strconv.ParseFloat(strings.TrimSpace(line[at+len(key)+1:]), 64)
	return value, err == nil && !math.IsNaN(value)
}

// maxSeconds is the largest accepted time in seconds: segments last seconds, and
// ffmpeg counts from their beginning.
const maxSeconds = 1e6

func parseTimestamp(s string) timestamp {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > maxSeconds {
		return timestamp{}
	}
	return timestamp{time.Duration(math.Round(seconds*1e6)) * time.Microsecond, true}
}

func lines(b []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range bytes.Lines(b) {
			if !yield(strings.TrimRight(string(line), "\r\n")) {
				return
			}
		}
	}
}
