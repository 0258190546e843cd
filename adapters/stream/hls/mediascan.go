package hls

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
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
	number       uint64    // of the entries and gaps before it in the playlist
	problem      string    // why it is left out
	breaks       uint64    // EXT-X-DISCONTINUITY tags before it
	init         *initTag
	byteRange    *watch.ByteRange
	key          *keyTag
}

// mediaScan is a media playlist while it is scanned line by line.
type mediaScan struct {
	target   time.Duration
	sequence uint64 // EXT-X-MEDIA-SEQUENCE
	numbered bool   // EXT-X-MEDIA-SEQUENCE is stated
	skipped  uint64 // segments that EXT-X-SKIP replaces
	lost     string // why the numbers of the segments are not known; empty: they are
	ended    bool
	entries  []entry
	defect   defect
	line     int // that is being scanned

	next       entry            // tags of the segment whose URI follows
	hasInf     bool             // EXTINF was seen, its URI not yet
	byteRange  *watch.ByteRange // EXT-X-BYTERANGE of the next segment; its offset may be -1
	init       *initTag         // EXT-X-MAP in force
	keys       keyState         // EXT-X-KEY in force
	continuity int              // index of the first entry since the last discontinuity
	breaks     uint64           // EXT-X-DISCONTINUITY tags so far
	epoch      *uint64          // EXT-X-DISCONTINUITY-SEQUENCE; nil: not stated
	clock      time.Time        // program time of the next segment; zero: unknown
}

// scanMedia scans a media playlist.
func scanMedia(ctx context.Context, body []byte) (*mediaScan, error) {
	s := &mediaScan{}
	lines := newScanner(ctx, body)
	for lines.next() {
		s.line = lines.read
		if err := s.add(lines.line); err != nil {
			return nil, malformed("line %d: %s", lines.read, err.Detail)
		}
	}
	if s.hasInf {
		s.defect.note(s.line, "it ends between EXTINF and its URI")
	}
	return s, lines.err
}

// leaveOut notes that the next segment is left out, and why.
func (s *mediaScan) leaveOut(problem string) {
	s.defect.note(s.line, "%s", problem)
	s.next.problem = cmp.Or(s.next.problem, problem)
}

// loseNumbers notes that no segment's number is known, and why. Program times and names still
// tell the segments apart.
func (s *mediaScan) loseNumbers(problem string) {
	s.defect.note(s.line, "%s", problem)
	s.lost = cmp.Or(s.lost, problem)
}

// add takes one line. It fails only for limits: an odd line costs at most its own segment, or
// the numbers of all. The caller adds the line's number to the failure.
func (s *mediaScan) add(l line) *watch.Failure {
	switch string(l.tag) {
	case "":
		return s.addURI(l.value)
	case "EXTINF:":
		s.addInf(l.value)
	case "EXT-X-TARGETDURATION:":
		s.target, _ = parseSeconds(l.value)
	case "EXT-X-MEDIA-SEQUENCE:":
		n, err := strconv.ParseUint(string(l.value), 10, 63)
		if err != nil || len(s.entries) > 0 {
			s.loseNumbers("EXT-X-MEDIA-SEQUENCE is not a number, or comes after a segment")
			break
		}
		s.sequence, s.numbered = n, true
	case "EXT-X-ENDLIST":
		s.ended = true
	case "EXT-X-GAP":
		s.next.gap = true
	case "EXT-X-DISCONTINUITY":
		// The segment's own program time may precede this tag; it stays valid.
		s.continuity, s.clock = len(s.entries), s.next.programTime
		s.breaks++
	case "EXT-X-DISCONTINUITY-SEQUENCE:":
		n, err := strconv.ParseUint(string(l.value), 10, 63)
		if err != nil {
			s.defect.note(s.line, "EXT-X-DISCONTINUITY-SEQUENCE is not a number")
			break
		}
		s.epoch = &n
	case "EXT-X-PROGRAM-DATE-TIME:":
		t := parseProgramTime(l.value)
		if t.IsZero() {
			s.defect.note(s.line, "EXT-X-PROGRAM-DATE-TIME is not a time")
			break
		}
		s.next.programTime, s.clock = t, t
	case "EXT-X-BYTERANGE:":
		byteRange, ok := parseByteRange(l.value)
		if !ok {
			s.leaveOut("EXT-X-BYTERANGE is not a byte range")
			break
		}
		s.byteRange = &byteRange
	case "EXT-X-MAP:":
		if problem := s.addMap(l.value); problem != "" {
			s.defect.note(s.line, "%s", problem)
		}
	case "EXT-X-KEY:":
		if problem := s.keys.add(l.value); problem != "" {
			s.defect.note(s.line, "%s", problem)
		}
	case "EXT-X-SKIP:":
		s.addSkip(l.value)
	}
	return nil
}

// addInf parses an EXTINF.
func (s *mediaScan) addInf(value []byte) {
	if s.hasInf {
		s.defect.note(s.line, "a second EXTINF before the URI of the first")
	}
	text, _, _ := bytes.Cut(value, []byte(","))
	s.hasInf, s.next.seconds = true, bytes.TrimSpace(text)
	duration, ok := parseSeconds(s.next.seconds)
	if !ok {
		duration = s.target // a guess, for the program time of what follows
	}
	if s.next.duration = duration; !ok || duration <= 0 {
		s.leaveOut("EXTINF is not a positive number of seconds")
	}
}

// addURI completes the entry of the segment with this URI.
func (s *mediaScan) addURI(uri []byte) *watch.Failure {
	if !s.hasInf {
		s.defect.note(s.line, "a URI without EXTINF")
		return nil
	}
	if len(s.entries) == MaxSegments {
		return malformed("more than %d segments", MaxSegments)
	}
	key, problem := s.keys.current()
	if problem != "" && !s.next.gap {
		s.leaveOut(problem)
	}
	if s.byteRange != nil && s.byteRange.Offset < 0 && !s.continueRange(uri) {
		s.byteRange = nil
		s.leaveOut("EXT-X-BYTERANGE without an offset does not follow a part of the same resource")
	}
	e := s.next
	e.uri, e.init, e.key, e.byteRange, e.breaks = uri, s.init, key, s.byteRange, s.breaks
	e.number = uint64(len(s.entries))
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
func (s *mediaScan) addSkip(list []byte) {
	a, ok := parseAttributes(list)
	n, err := strconv.ParseUint(a["SKIPPED-SEGMENTS"], 10, 63)
	if !ok || err != nil || len(s.entries) > 0 || s.skipped > 0 {
		s.loseNumbers("EXT-X-SKIP has no number of segments, or comes after a segment")
		s.continuity, s.clock = len(s.entries), s.next.programTime // nobody knows how long the skipped part is
		return
	}
	s.skipped = n
}

// firstSequence returns the sequence number of the first entry, or 0 if the numbers are not
// known. It notes that they are not if one would exceed MaxSequence.
func (s *mediaScan) firstSequence() uint64 {
	first := s.sequence + s.skipped // both are below 1<<63
	if s.lost == "" && first > MaxSequence-uint64(len(s.entries)) {
		s.loseNumbers(fmt.Sprintf("EXT-X-MEDIA-SEQUENCE and EXT-X-SKIP come to more than %d", uint64(MaxSequence)))
	}
	if s.lost != "" {
		return 0
	}
	return first
}

// identify adds to a segment what tells it from the same name in another reading. Without
// EXT-X-DISCONTINUITY-SEQUENCE the tags before a segment prove nothing, because they leave
// the playlist with time.
func (s *mediaScan) identify(e entry, segment *watch.Segment) {
	segment.Unnumbered = !s.numbered || s.lost != ""
	if s.epoch != nil {
		segment.Discontinuity = *s.epoch + e.breaks
	}
}
