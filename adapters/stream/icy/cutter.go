package icy

import (
	"bytes"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/internal/audioframe"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

const (
	segmentLength = 4 * time.Second // of a segment, at least, unless something else begins; it ends with a frame
	maxSegment    = 2 << 20         // bytes of one; more end it early
	maxStrange    = 64 << 10        // bytes in a row in which there is no sound
	maxTags       = 2 << 20         // bytes of tags in a row, with pictures, in Ogg; they are not kept
	inSync        = 3               // frames that follow each other; what looks like one alone may be sound
)

// noFormat tells people which formats a stream does not have.
const noFormat = "neither MP3, AAC (ADTS), nor Vorbis, Opus or FLAC in Ogg"

// codec is how the frames of a stream without a container are found.
type codec struct {
	container string // of watch.Segment
	parse     audioframe.Parse
}

var codecs = []codec{{"mp3", audioframe.MPEG}, {"aac", audioframe.ADTS}}

// cutter cuts a stream into segments of whole frames, or whole pages of Ogg. It leaves out everything else, such as tags.
type cutter struct {
	codec   codec         // Ogg has no parse; without a container, it is not known yet
	logical logical       // the stream in Ogg
	strange int           // bytes in a row that were no sound
	tags    int           // bytes since the last sound that were tags in Ogg
	rest    []byte        // not looked at yet
	frames  []byte        // of the segment that is being cut
	length  time.Duration // of these frames
	whole   []cut         // not returned yet
}

// cut is one segment.
type cut struct {
	bytes  []byte
	length time.Duration
}

// add takes in bytes, and returns the segments that are whole now. Error: *watch.Failure, undecodable.
func (c *cutter) add(b []byte) ([]cut, error) {
	c.rest = append(c.rest, b...)
	if c.codec.container == "" && bytes.HasPrefix(c.rest, []byte(capturePattern)) {
		c.codec.container = ogg
	}
	var err error
	if c.codec.container == ogg {
		err = c.addPages()
	} else {
		c.addFrames()
	}
	if err == nil && c.strange > maxStrange {
		err = watch.NewFailure(watch.FailureUndecodable, "%s: no sound in %d bytes", noFormat, maxStrange)
	}
	if err == nil && c.tags > maxTags {
		err = watch.NewFailure(watch.FailureUndecodable, "a header of Ogg with more than %d bytes of tags", maxTags)
	}
	whole := c.whole
	c.whole = nil
	return whole, err
}

// addFrames takes in the frames that are whole.
func (c *cutter) addFrames() {
	for {
		frame, ok := c.next()
		if !ok {
			return
		}
		c.take(c.rest[:frame.Size], time.Duration(frame.Samples)*time.Second/time.Duration(frame.Hertz))
		c.rest = c.rest[frame.Size:]
	}
}

// take adds a frame or a page to the segment, and ends it if it is long enough.
func (c *cutter) take(frame []byte, length time.Duration) {
	c.frames = append(c.frames, frame...)
	c.length += length
	c.strange += len(frame)
	if length > 0 {
		c.strange, c.tags = 0, 0
	}
	if c.length >= segmentLength || len(c.frames) >= maxSegment {
		c.end()
	}
}

// end ends the segment, if it has begun.
func (c *cutter) end() {
	if c.length > 0 {
		c.whole = append(c.whole, cut{c.logical.withHeader(c.frames), c.length})
	}
	c.frames, c.length = nil, 0
}

// next returns the frame that rest begins with, once it is whole, and drops what precedes it.
func (c *cutter) next() (audioframe.Frame, bool) {
	for len(c.rest) >= audioframe.HeaderSize {
		frame, known := c.frame()
		if !known {
			return frame, false
		}
		if frame.Size > 0 {
			return frame, true
		}
		c.skip(1)
	}
	return audioframe.Frame{}, false
}

// skip drops bytes that are no sound.
func (c *cutter) skip(n int) {
	c.rest = c.rest[n:]
	c.strange += n
}

// frame reads the frame that rest begins with; size 0: rest begins with something else. known is false if more bytes are needed.
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
