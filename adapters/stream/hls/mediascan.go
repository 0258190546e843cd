package hls

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// entry is one segment of a media playlist. The library decodes EXTINF and URI, the scan the rest.
type entry struct {
	line            int    // of EXTINF
	uri, seconds    []byte // as in the playlist; they point into its bytes
	title           []byte // as in EXTINF
	duration        time.Duration
	programTime     time.Time // stated or extrapolated; zero: unknown
	afterCut        bool      // its program time does not follow from that of the entry before
	gap             bool      // EXT-X-GAP
	ad              bool      // an advertisement, and not of the stream
	unusable        bool
	discontinuities uint64 // EXT-X-DISCONTINUITY tags before it
	init            *initTag
	byteRange       *watch.ByteRange // its offset is -1 until continueRange
	key             *keyTag
}

// mediaScan is a media playlist while it is scanned line by line.
type mediaScan struct {
	hasSegment  bool // an EXTINF was seen
	hasMediaTag bool // a tag was seen that says so of a playlist without segments
	failure     *watch.Failure

	target   time.Duration
	sequence uint64 // EXT-X-MEDIA-SEQUENCE
	numbered bool   // EXT-X-MEDIA-SEQUENCE is stated
	skipped  uint64 // segments that EXT-X-SKIP replaces
	lost     bool   // the numbers of the segments are not known
	ended    bool
	entries  []entry
	adBreaks []adBreak
	defect   defect
	line     int // that is being scanned

	next                  entry    // tags of the segment whose URI follows
	uriDue                bool     // EXTINF was seen, its URI not yet
	init                  *initTag // EXT-X-MAP in force
	keys                  keyState // EXT-X-KEY in force
	discontinuities       uint64   // EXT-X-DISCONTINUITY tags so far
	discontinuitySequence *uint64  // EXT-X-DISCONTINUITY-SEQUENCE; nil: not stated
}

// leaveOut notes that the next segment is left out, and why.
func (s *mediaScan) leaveOut(problem string) {
	s.defect.note(s.line, "%s", problem)
	s.next.unusable = true
}

// loseNumbers notes that no segment's number is known, and why. Program times and names still
// tell the segments apart.
func (s *mediaScan) loseNumbers(problem string) {
	s.defect.note(s.line, "%s", problem)
	s.lost = true
}

// add takes one line. An odd line costs its own segment, or the numbers of all; an odd key or
// initialisation segment costs those for which it is in force.
func (s *mediaScan) add(number int, l line) {
	s.line = number
	switch string(l.tag) {
	case "":
		s.addURI(l.value)
	case "EXTINF:":
		s.addInf(l.value)
	case "EXT-X-TARGETDURATION:":
		s.hasMediaTag = true
		s.target = parseSeconds(l.value)
	case "EXT-X-MEDIA-SEQUENCE:":
		s.hasMediaTag = true
		n, err := strconv.ParseUint(string(l.value), 10, 63)
		if err != nil || len(s.entries) > 0 {
			s.loseNumbers("EXT-X-MEDIA-SEQUENCE is not a number, or comes after a segment")
			break
		}
		s.sequence, s.numbered = n, true
	case "EXT-X-ENDLIST":
		s.hasMediaTag, s.ended = true, true
	case "EXT-X-GAP":
		s.next.gap = true
	case "EXT-X-DISCONTINUITY":
		s.next.afterCut = true
		s.discontinuities++
	case "EXT-X-DISCONTINUITY-SEQUENCE:":
		n, err := strconv.ParseUint(string(l.value), 10, 63)
		if err != nil {
			s.defect.note(s.line, "EXT-X-DISCONTINUITY-SEQUENCE is not a number")
			break
		}
		s.discontinuitySequence = &n
	case "EXT-X-PROGRAM-DATE-TIME:":
		t := parseProgramTime(l.value)
		if t.IsZero() {
			s.defect.note(s.line, "EXT-X-PROGRAM-DATE-TIME is not a time")
			break
		}
		s.next.programTime = t
	case "EXT-X-DATERANGE:":
		s.addDateRange(l.value)
	case "EXT-X-BYTERANGE:":
		byteRange, ok := parseByteRange(l.value)
		if !ok {
			s.leaveOut("EXT-X-BYTERANGE is not a byte range")
			break
		}
		s.next.byteRange = &byteRange
	case "EXT-X-MAP:":
		if problem := s.addMap(l.value); problem != "" {
			s.defect.note(s.line, "%s", problem)
		}
	case "EXT-X-KEY:":
		if problem := s.keys.add(l.value); problem != "" {
			s.defect.note(s.line, "%s", problem)
		}
	case "EXT-X-SKIP:":
		s.hasMediaTag = true
		s.addSkip(l.value)
	}
}

// addInf takes an EXTINF.
func (s *mediaScan) addInf(value []byte) {
	if s.uriDue {
		s.defect.note(s.line, "a second EXTINF before the URI of the first")
	}
	text, title, _ := bytes.Cut(value, []byte(","))
	s.hasSegment, s.uriDue = true, true
	s.next.line, s.next.seconds, s.next.title = s.line, bytes.TrimSpace(text), title
}

// addURI completes the entry of the segment with this URI.
func (s *mediaScan) addURI(uri []byte) {
	if !s.uriDue {
		s.defect.note(s.line, "a URI without EXTINF")
		return
	}
	if len(s.entries) == MaxSegments {
		s.failure = cmp.Or(s.failure, malformed("line %d: more than %d segments", s.line, MaxSegments))
		return
	}
	key, problem := s.keys.current()
	if problem != "" && !s.next.gap {
		s.leaveOut(problem)
	}
	e := &s.next
	e.uri, e.init, e.key, e.discontinuities = uri, s.init, key, s.discontinuities
	e.ad = isAd(e.title, uri)
	if e.byteRange != nil && e.byteRange.Offset < 0 && !s.continueRange(e) {
		e.byteRange = nil
		s.leaveOut("EXT-X-BYTERANGE without an offset does not follow a part of the same resource")
	}
	s.entries = append(s.entries, *e)
	s.next, s.uriDue = entry{}, false
}

// continueRange sets the offset of an entry's byte range to the end of the one before,
// which must be of the same resource (RFC 8216, 4.3.2.2).
func (s *mediaScan) continueRange(e *entry) bool {
	if len(s.entries) == 0 {
		return false
	}
	before := s.entries[len(s.entries)-1]
	if before.byteRange == nil || !bytes.Equal(before.uri, e.uri) {
		return false
	}
	e.byteRange.Offset = before.byteRange.Offset + before.byteRange.Length
	return e.byteRange.Offset <= MaxRangeEnd-e.byteRange.Length
}

// addSkip parses an EXT-X-SKIP: the playlist is a delta update without its oldest
// segments (RFC 8216bis, 4.4.5.2), although none was asked for. The segments that
// follow can be used; keys and init sections of the skipped part are lost.
func (s *mediaScan) addSkip(list []byte) {
	a, ok := parseAttributes(list)
	n, err := strconv.ParseUint(a["SKIPPED-SEGMENTS"], 10, 63)
	if !ok || err != nil || len(s.entries) > 0 || s.skipped > 0 {
		s.loseNumbers("EXT-X-SKIP has no number of segments, or comes after a segment")
		s.next.afterCut = true // nobody knows how long the skipped part is
		return
	}
	s.skipped = n
}

// numberEntries returns the sequence number of the first entry, or 0 if the numbers are not
// known. It loses them if one would exceed MaxSequence.
func (s *mediaScan) numberEntries() uint64 {
	first := s.sequence + s.skipped // both are below 1<<63
	if !s.lost && first > MaxSequence-uint64(len(s.entries)) {
		s.loseNumbers(fmt.Sprintf("EXT-X-MEDIA-SEQUENCE and EXT-X-SKIP come to more than %d", uint64(MaxSequence)))
	}
	if s.lost {
		return 0
	}
	return first
}
