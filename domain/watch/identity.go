package watch

import (
	"math"
	"slices"
	"time"
)

// identity tells one segment of a media playlist from the others (decision S5): by its
// program time and its number, as the manifest states them. Its URI decides only where
// neither is stated, because tokens, hosts and redirects change while the segment stays.
type identity struct {
	ID            string    `json:"id,omitempty"`
	ProgramTime   time.Time `json:"program_time,omitzero"`   // zero: not stated
	Discontinuity uint64    `json:"discontinuity,omitempty"` // discontinuity sequence number
	Number        uint64    `json:"number,omitempty"`        // media sequence number plus 1; 0: not stated
}

func (s Segment) identity() identity {
	id := identity{ID: s.ID(), ProgramTime: s.ProgramTime, Discontinuity: s.Discontinuity, Number: s.Sequence + 1}
	if s.TimeEstimated {
		id.ProgramTime = time.Time{}
	}
	if s.Unnumbered {
		id.Number = 0
	}
	return id
}

// order is the place of one segment relative to another, by program time or by number.
type order int

const (
	behind order = iota - 1
	equal
	ahead
	unstated // by one of the two
)

// byTime compares program times. Those of one segment differ by less than half of it,
// because copies of a playlist extrapolate them from different segments.
func (s Segment) byTime(other identity) order {
	own := s.identity().ProgramTime
	switch difference := own.Sub(other.ProgramTime); {
	case own.IsZero() || other.ProgramTime.IsZero():
		return unstated
	case difference.Abs() < max(1, s.Duration/2):
		return equal
	case difference < 0:
		return behind
	}
	return ahead
}

// byNumber compares media sequence numbers. They may begin anew at a discontinuity.
func (s Segment) byNumber(other identity) order {
	own := s.identity()
	switch {
	case own.Number == 0 || other.Number == 0:
		return unstated
	case own.Number == other.Number && own.Discontinuity == other.Discontinuity:
		return equal
	case own.Number < other.Number && own.Discontinuity <= other.Discontinuity:
		return behind
	}
	return ahead
}

// Same reports whether two listings are of one segment of a media playlist.
func (s Segment) Same(other Segment) bool {
	byTime, byNumber := s.byTime(other.identity()), s.byNumber(other.identity())
	if byTime == unstated && byNumber == unstated {
		return s.ID() == other.ID()
	}
	return (byTime == equal || byTime == unstated) && (byNumber == equal || byNumber == unstated)
}

// SameListing reports whether two listings are of one segment under one URI, so that a
// request for either has the same answer.
func (s Segment) SameListing(other Segment) bool { return s.ID() == other.ID() && s.Same(other) }

// fromOlderCopy reports whether the segment lies behind another one in time and number, as
// far as both are stated, by maxCopyDelay at most.
func (s Segment) fromOlderCopy(other identity) bool {
	byTime, byNumber := s.byTime(other), s.byNumber(other)
	switch {
	case byTime == behind && (byNumber == behind || byNumber == unstated):
		return other.ProgramTime.Sub(s.ProgramTime) <= maxCopyDelay
	case byTime == unstated && byNumber == behind:
		return other.Number-s.identity().Number <= uint64(maxCopyDelay/max(1, s.Duration))
	}
	return false
}

// sameLine reports whether the program time differs from another one's by as much as the
// number does. If so, no clock was reset between the two segments.
func (s Segment) sameLine(other identity) bool {
	if s.byTime(other) == unstated || s.byNumber(other) == unstated {
		return false
	}
	difference := s.ProgramTime.Sub(other.ProgramTime).Seconds()
	expected := (float64(s.identity().Number) - float64(other.Number)) * s.Duration.Seconds()
	return math.Abs(difference-expected) <= min(clockSlack.Seconds(), s.Duration.Seconds()+math.Abs(difference)/10)
}

// listed returns a segment of an earlier reading as the last one lists it: the server may
// refuse its former URI. Its place on the media timeline stays.
func (f *mediaFeed) listed(s Segment) Segment {
	if at := slices.IndexFunc(f.listing.segments, s.Same); at >= 0 {
		now := f.listing.segments[at]
		now.ProgramTime, now.TimeEstimated = s.ProgramTime, s.TimeEstimated
		return now
	}
	return s
}

// comparison is the result of comparing a playlist with the newest segment seen before.
type comparison int

const (
	newer   comparison = iota // its newest segment was not seen before
	again                     // it was, ahead of the one that is watched since readings of older copies
	same                      // its newest segment is the newest one seen
	older                     // its server's copy is older than a previous reading
	unknown                   // nothing tells whether its newest segment was seen before
)

// compare tells a new segment from one seen before (decision S5). A segment that lies
// behind in time and number, by maxCopyDelay at most, is from an older copy. After
// maxOlderReadings such readings in a row, the next one shows a restarted encoder.
func (f *mediaFeed) compare(last Segment) comparison {
	c := f.compareWithWatched(last)
	if c == newer && f.Newest.seenBefore(last) {
		return again
	}
	return c
}

// compareWithWatched compares a segment with the one that is watched, which may be from an older copy.
func (f *mediaFeed) compareWithWatched(last Segment) comparison {
	known := f.Newest.identity
	byTime, byNumber := last.byTime(known), last.byNumber(known)
	listed := slices.ContainsFunc(f.listing.segments, func(s Segment) bool { return s.ID() == last.ID() })
	var isOlder bool
	switch {
	case !f.Clock.Started:
		return newer
	case byTime == unstated && byNumber == unstated:
		if last.ID() == known.ID {
			return same
		}
		if f.listing.ofFormerURL && !listed {
			return unknown
		}
		isOlder = listed
	case byTime == ahead || byNumber == ahead:
		return newer
	case byTime == equal || byNumber == equal:
		return same
	default:
		isOlder = last.fromOlderCopy(known)
	}
	if isOlder && f.listing.olderReadings < maxOlderReadings {
		return older
	}
	return newer
}

// seenBefore reports whether a segment that is watched anew, after readings of older copies, is
// one that was published before the newest one ever seen. Copies that stand still would
// otherwise look like a stream that moves.
func (n newest) seenBefore(s Segment) bool {
	if s.byTime(n.Peak) != unstated && s.byNumber(n.Peak) != unstated && !s.sameLine(n.Peak) {
		return false // a restarted encoder counts anew
	}
	return s.fromOlderCopy(n.Peak) || s.byNumber(n.Peak) == equal && s.byTime(n.Peak) != ahead
}
