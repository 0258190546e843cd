package icy

import (
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/audioframe"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const (
	segmentLength = 4 * time.Second // of a segment, at least; it ends with a frame
	maxStrange    = 64 << 10        // bytes in a row in which there is no frame
	inSync        = 3               // frames that follow each other; what looks like one alone may be sound
)

// codec is how the frames of a stream are found.
type codec struct {
	container string // of watch.Segment
	parse     audioframe.Parse
}

var codecs = []codec{{"mp3", audioframe.MPEG}, {"aac", audioframe.ADTS}}

// cutter cuts a stream into segments of whole frames. What is no frame, such as a tag, is left out.
type cutter struct {
	codec   codec
	strange int           // bytes in a row that were no frame
	rest    []byte        // not looked at yet
	frames  []byte        // of the segment that is being cut
	length  time.Duration // of these frames
}

// cut is one segment.
type cut struct {
	bytes  []byte
	length time.Duration
}

// add takes in bytes, and returns the segments that are whole now. Error: *watch.Failure, undecodable.
func (c *cutter) add(b []byte) (whole []cut, err error) {
	c.rest = append(c.rest, b...)
	for {
		frame, ok := c.next()
		if !ok {
			break
		}
		c.frames = append(c.frames, c.rest[:frame.Size]...)
		c.rest = c.rest[frame.Size:]
		c.length += time.Duration(frame.Samples) * time.Second / time.Duration(frame.Hertz)
		if c.length >= segmentLength {
			whole = append(whole, cut{c.frames, c.length})
			c.frames, c.length = nil, 0
		}
	}
	if c.strange > maxStrange {
		return whole, watch.NewFailure(watch.FailureUndecodable, "neither MP3 nor AAC (ADTS): no frame in %d bytes", maxStrange)
	}
	return whole, nil
}

// next returns the frame that rest begins with, once it is whole, and drops what precedes it.
func (c *cutter) next() (audioframe.Frame, bool) {
	for len(c.rest) >= audioframe.HeaderSize {
		frame, known := c.frame()
		if !known {
			return frame, false
		}
		if frame.Size > 0 {
			c.strange = 0
			return frame, true
		}
		c.rest = c.rest[1:]
		c.strange++
	}
	return audioframe.Frame{}, false
}

// frame reads the frame that rest begins with; without a size there is none. known is false if more bytes are needed.
// Unless the frame follows another one, inSync frames have to follow each other.
func (c *cutter) frame() (first audioframe.Frame, known bool) {
	candidates, frames := codecs, inSync
	if c.codec.parse != nil {
		candidates = []codec{c.codec}
		if c.strange == 0 {
			frames = 1
		}
	}
	for _, candidate := range candidates {
		at := 0
		first = candidate.parse(c.rest)
		for n, f := 1, first; f.Size > 0; n, f = n+1, candidate.parse(c.rest[at:]) {
			at += f.Size
			switch {
			case n == frames && at <= len(c.rest):
				c.codec = candidate
				return first, true
			case at+audioframe.HeaderSize > len(c.rest):
				return audioframe.Frame{}, false
			}
		}
	}
	return audioframe.Frame{}, true
}
