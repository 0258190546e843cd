package ffmpeg

import (
	"bytes"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// frame is one decoded frame as ametadata=print and metadata=print list it:
//
//	frame:187  pts:191488  pts_time:3.98933
//	lavfi.silence_start=3.90406
//	a=1
//
// A time that ffmpeg does not know, or an absurd one, is unset.
type frame struct {
	number     int // from 0; starts again when the track's format changes
	at         instant
	start, end instant // a bad stretch begins, ends
}

// instant is a time within the segment, or unset.
type instant struct {
	time.Duration
	set bool
}

// frames reads a listing, whose tags are named start and end. Other lines may
// stand between, and before a listed line within the same line: newer versions
// of ffmpeg write the log from other threads.
func frames(listing []byte, start, end string) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		var f frame
		open := false
		for line := range lines(listing) {
			if next, ok := parseFrame(line); ok {
				if open && !yield(f) {
					return
				}
				f, open = next, true
				continue
			}
			if at := parseTag(line, start); at.set {
				f.start = at
			}
			if at := parseTag(line, end); at.set {
				f.end = at
			}
		}
		if open {
			yield(f)
		}
	}
}

func parseFrame(line string) (frame, bool) {
	at := strings.LastIndex(line, "frame:")
	if at < 0 {
		return frame{}, false
	}
	fields := strings.Fields(line[at:])
	if len(fields) != 3 || !strings.HasPrefix(fields[1], "pts:") || !strings.HasPrefix(fields[2], "pts_time:") {
		return frame{}, false
	}
	number, err := strconv.Atoi(fields[0][len("frame:"):])
	if err != nil || number < 0 {
		return frame{}, false
	}
	return frame{number: number, at: parseInstant(fields[2][len("pts_time:"):])}, true
}

func parseTag(line, name string) instant {
	at := strings.LastIndex(line, name+"=")
	if at < 0 {
		return instant{}
	}
	return parseInstant(line[at+len(name)+1:])
}

// farthest is the largest time believed, in seconds: a segment lasts seconds,
// and ffmpeg counts from its beginning.
const farthest = 1e6

func parseInstant(s string) instant {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > farthest {
		return instant{}
	}
	return instant{time.Duration(math.Round(seconds*1e6)) * time.Microsecond, true}
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
