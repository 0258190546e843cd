package hls

import (
	"bytes"
	"strconv"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// entry is one segment as the scan sees it.
type entry struct {
	uri, seconds []byte // as written; they point into the playlist's bytes
	duration     time.Duration
	at           time.Time // stated or extrapolated; zero: unknown
	gap          bool      // EXT-X-GAP
	init         *section  // EXT-X-MAP
	part         *watch.ByteRange
	key          *keyTag
}

// draft is a media playlist while it is being scanned, line by line.
type draft struct {
	target   time.Duration
	sequence uint64 // EXT-X-MEDIA-SEQUENCE
	skipped  uint64 // segments that EXT-X-SKIP stands for
	ended    bool
	entries  []entry

	pending entry            // tags seen so far of the segment to come
	open    bool             // EXTINF was seen, its URI not yet
	part    *watch.ByteRange // EXT-X-BYTERANGE of the segment to come, its offset perhaps -1
	init    *section         // EXT-X-MAP, good until the next one
	locks   locks            // EXT-X-KEY
	unbroke int              // index of the first entry since the last discontinuity
	clock   time.Time        // when the segment to come begins; zero: unknown
}

// add takes one line. The failure is to be completed with the line's number.
func (d *draft) add(l line) *watch.Failure {
	var ok bool
	switch string(l.tag) {
	case "":
		return d.addURI(l.value)
	case "EXTINF:":
		if d.open {
			return malformed("a second EXTINF before the URI of the first")
		}
		text, _, _ := bytes.Cut(l.value, []byte(","))
		d.pending.seconds = bytes.TrimSpace(text)
		if d.pending.duration, ok = seconds(d.pending.seconds); !ok || d.pending.duration <= 0 {
			return malformed("EXTINF is not a positive number of seconds")
		}
		d.open = true
	case "EXT-X-TARGETDURATION:":
		if d.target, ok = seconds(l.value); !ok {
			return malformed("EXT-X-TARGETDURATION is not a number of seconds")
		}
	case "EXT-X-MEDIA-SEQUENCE:":
		n, err := strconv.ParseUint(string(l.value), 10, 63)
		if err != nil || len(d.entries) > 0 {
			return malformed("EXT-X-MEDIA-SEQUENCE is not a number, or comes after a segment")
		}
		d.sequence = n
	case "EXT-X-ENDLIST":
		d.ended = true
	case "EXT-X-GAP":
		d.pending.gap = true
	case "EXT-X-DISCONTINUITY":
		// The tag may come after the time of the same segment; that time stays.
		d.unbroke, d.clock = len(d.entries), d.pending.at
	case "EXT-X-PROGRAM-DATE-TIME:":
		if at := programTime(l.value); !at.IsZero() {
			d.pending.at, d.clock = at, at
		}
	case "EXT-X-BYTERANGE:":
		part, ok := byteRange(l.value)
		if !ok {
			return malformed("EXT-X-BYTERANGE is not a byte range")
		}
		d.part = &part
	case "EXT-X-MAP:":
		return d.addMap(l.value)
	case "EXT-X-KEY:":
		return d.locks.add(l.value)
	case "EXT-X-SKIP:":
		return d.skip(l.value)
	}
	return nil
}

// addURI completes the segment whose URI this is.
func (d *draft) addURI(uri []byte) *watch.Failure {
	if !d.open {
		return malformed("a URI without EXTINF")
	}
	if len(d.entries) == MaxSegments {
		return malformed("more than %d segments", MaxSegments)
	}
	key, locked := d.locks.key()
	if locked != nil && !d.pending.gap {
		return locked
	}
	e := d.pending
	e.uri, e.init, e.key = uri, d.init, key
	if d.part != nil {
		if d.part.Offset < 0 && !d.follow(uri) {
			return malformed("EXT-X-BYTERANGE without an offset does not follow a part of the same resource")
		}
		e.part = d.part
	}
	e.at = d.clock
	if !d.pending.at.IsZero() {
		d.extrapolateBack(d.pending.at)
	}
	if !d.clock.IsZero() {
		d.clock = d.clock.Add(e.duration)
	}
	d.entries = append(d.entries, e)
	d.pending, d.part, d.open = entry{}, nil, false
	return nil
}

// follow lets the pending byte range begin where that of the entry before ends,
// which must be of the same resource (RFC 8216, 4.3.2.2).
func (d *draft) follow(uri []byte) bool {
	if len(d.entries) == 0 {
		return false
	}
	before := d.entries[len(d.entries)-1]
	if before.part == nil || !bytes.Equal(before.uri, uri) {
		return false
	}
	d.part.Offset = before.part.Offset + before.part.Length
	return d.part.Offset <= MaxRangeEnd-d.part.Length
}

// extrapolateBack gives times to the entries of this continuity that came
// before its first stated time (RFC 8216, 4.3.2.6).
func (d *draft) extrapolateBack(at time.Time) {
	for i := len(d.entries) - 1; i >= d.unbroke && d.entries[i].at.IsZero(); i-- {
		at = at.Add(-d.entries[i].duration)
		d.entries[i].at = at
	}
}

// skip takes an EXT-X-SKIP: the playlist is a delta update, which nobody asked
// for, and leaves out its oldest segments (RFC 8216bis, 4.4.5.2). What follows
// is good; keys and maps stated among what is left out are lost with it.
func (d *draft) skip(list []byte) *watch.Failure {
	a, ok := attributes(list)
	n, err := strconv.ParseUint(a["SKIPPED-SEGMENTS"], 10, 63)
	if !ok || err != nil || len(d.entries) > 0 || d.skipped > 0 {
		return malformed("EXT-X-SKIP has no number of segments, or comes after a segment")
	}
	d.skipped = n
	return nil
}

// first is the sequence number of the first entry. It is false if those of all
// entries do not fit below MaxSequence.
func (d *draft) first() (uint64, bool) {
	first := d.sequence + d.skipped // both are below 1<<63
	return first, first <= MaxSequence-uint64(len(d.entries))
}
