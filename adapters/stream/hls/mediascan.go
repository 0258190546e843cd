package hls

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// entry is one segment of a media playlist as the scan sees it.
type entry struct {
	uri, seconds []byte // as in the playlist; they point into its bytes
	duration     time.Duration
	programTime  time.Time // stated or extrapolated; zero: unknown
	gap          bool      // EXT-X-GAP
	init         *initTag
	byteRange    *watch.ByteRange
	key          *keyTag
}

// mediaScan is a media playlist while it is scanned line by line.
type mediaScan struct {
	target   time.Duration
	sequence uint64 // EXT-X-MEDIA-SEQUENCE
	skipped  uint64 // segments that EXT-X-SKIP replaces
	ended    bool
	entries  []entry

	next       entry            // tags of the segment whose URI follows
	hasInf     bool             // EXTINF was seen, its URI not yet
	byteRange  *watch.ByteRange // EXT-X-BYTERANGE of the next segment; its offset may be -1
	init       *initTag         // EXT-X-MAP in force
	keys       keyState         // EXT-X-KEY in force
	continuity int              // index of the first entry since the last discontinuity
	clock      time.Time        // program time of the next segment; zero: unknown
}

// scanMedia scans a media playlist.
func scanMedia(ctx context.Context, body []byte) (*mediaScan, error) {
	s := &mediaScan{}
	lines := newScanner(ctx, body)
	for lines.next() {
		if err := s.add(lines.line); err != nil {
			return nil, malformed("line %d: %s", lines.read, err.Detail)
		}
	}
	return s, lines.err
}

// add takes one line. The caller adds the line's number to the failure.
func (s *mediaScan) add(l line) *watch.Failure {
	var ok bool
	switch string(l.tag) {
	case "":
		return s.addURI(l.value)
	case "EXTINF:":
		if s.hasInf {
			return malformed("a second EXTINF before the URI of the first")
		}
		text, _, _ := bytes.Cut(l.value, []byte(","))
		s.next.seconds = bytes.TrimSpace(text)
		if s.next.duration, ok = parseSeconds(s.next.seconds); !ok || s.next.duration <= 0 {
			return malformed("EXTINF is not a positive number of seconds")
		}
		s.hasInf = true
	case "EXT-X-TARGETDURATION:":
		if s.target, ok = parseSeconds(l.value); !ok {
			return malformed("EXT-X-TARGETDURATION is not a number of seconds")
		}
	case "EXT-X-MEDIA-SEQUENCE:":
		n, err := strconv.ParseUint(string(l.value), 10, 63)
		if err != nil || len(s.entries) > 0 {
			return malformed("EXT-X-MEDIA-SEQUENCE is not a number, or comes after a segment")
		}
		s.sequence = n
	case "EXT-X-ENDLIST":
		s.ended = true
	case "EXT-X-GAP":
		s.next.gap = true
	case "EXT-X-DISCONTINUITY":
		// The segment's own program time may precede this tag; it stays valid.
		s.continuity, s.clock = len(s.entries), s.next.programTime
	case "EXT-X-PROGRAM-DATE-TIME:":
		if t := parseProgramTime(l.value); !t.IsZero() {
			s.next.programTime, s.clock = t, t
		}
	case "EXT-X-BYTERANGE:":
		byteRange, ok := parseByteRange(l.value)
		if !ok {
			return malformed("EXT-X-BYTERANGE is not a byte range")
		}
		s.byteRange = &byteRange
	case "EXT-X-MAP:":
		return s.addMap(l.value)
	case "EXT-X-KEY:":
		return s.keys.add(l.value)
	case "EXT-X-SKIP:":
		return s.addSkip(l.value)
	}
	return nil
}

// addURI completes the entry of the segment with this URI.
func (s *mediaScan) addURI(uri []byte) *watch.Failure {
	if !s.hasInf {
		return malformed("a URI without EXTINF")
	}
	if len(s.entries) == MaxSegments {
		return malformed("more than %d segments", MaxSegments)
	}
	key, failure := s.keys.current()
	if failure != nil && !s.next.gap {
		return failure
	}
	e := s.next
	e.uri, e.init, e.key = uri, s.init, key
	if s.byteRange != nil {
		if s.byteRange.Offset < 0 && !s.continueRange(uri) {
			return malformed("EXT-X-BYTERANGE without an offset does not follow a part of the same resource")
		}
		e.byteRange = s.byteRange
	}
	e.programTime = s.clock
	if !s.next.programTime.IsZero() {
		s.extrapolateBackwards(s.next.programTime)
	}
	if !s.clock.IsZero() {
		s.clock = s.clock.Add(e.duration)
	}
	s.entries = append(s.entries, e)
	s.next, s.byteRange, s.hasInf = entry{}, nil, false
	return nil
}

// continueRange sets the offset of the next byte range to the end of the one before,
// which must be of the same resource (RFC 8216, 4.3.2.2).
func (s *mediaScan) continueRange(uri []byte) bool {
	if len(s.entries) == 0 {
		return false
	}
	before := s.entries[len(s.entries)-1]
	if before.byteRange == nil || !bytes.Equal(before.uri, uri) {
		return false
	}
	s.byteRange.Offset = before.byteRange.Offset + before.byteRange.Length
	return s.byteRange.Offset <= MaxRangeEnd-s.byteRange.Length
}

// extrapolateBackwards sets the program times of the entries since the last
// discontinuity that precede its first stated time (RFC 8216, 4.3.2.6).
func (s *mediaScan) extrapolateBackwards(t time.Time) {
	for i := len(s.entries) - 1; i >= s.continuity && s.entries[i].programTime.IsZero(); i-- {
		t = t.Add(-s.entries[i].duration)
		s.entries[i].programTime = t
	}
}

// addSkip parses an EXT-X-SKIP: the playlist is a delta update without its oldest
// segments (RFC 8216bis, 4.4.5.2), although none was asked for. The segments that
// follow can be used; keys and init sections of the skipped part are lost.
func (s *mediaScan) addSkip(list []byte) *watch.Failure {
	a, ok := parseAttributes(list)
	n, err := strconv.ParseUint(a["SKIPPED-SEGMENTS"], 10, 63)
	if !ok || err != nil || len(s.entries) > 0 || s.skipped > 0 {
		return malformed("EXT-X-SKIP has no number of segments, or comes after a segment")
	}
	s.skipped = n
	return nil
}

// firstSequence returns the sequence number of the first entry. It is false if a
// sequence number would exceed MaxSequence.
func (s *mediaScan) firstSequence() (uint64, bool) {
	first := s.sequence + s.skipped // both are below 1<<63
	return first, first <= MaxSequence-uint64(len(s.entries))
}
