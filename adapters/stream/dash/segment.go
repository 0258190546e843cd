package dash

import (
	"math"
	"net/url"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// segments lists the newest of one Period's chosen representation, at most
// room of them, oldest first.
func (p *presentation) segments(one period, room int) ([]watch.Segment, error) {
	set := one.AdaptationSets[0]
	rep := set.Representations[0]
	base, err := rebase(one.base, set.BaseURLs)
	if err == nil {
		base, err = rebase(base, rep.BaseURLs)
	}
	if err != nil {
		return nil, err
	}
	if singular(one, set, rep) {
		return p.whole(one, base, containers[mimeType(set, rep)])
	}
	m := maker{addressing: addressed(one, set, rep), base: base, container: containers[mimeType(set, rep)]}
	if m.timescale == 0 || m.offset < 0 {
		return nil, malformed("a timescale of 0, or a presentationTimeOffset that is too large")
	}
	if err := m.prepare(rep); err != nil {
		return nil, err
	}
	runs, explicit, err := m.runs(p.live, one)
	if err != nil {
		return nil, err
	}
	s, placed := p.span(one, m.addressing, runs, explicit)
	if !placed && !explicit && p.live {
		return nil, malformed("availabilityStartTime is missing, without which there is no telling which segments are there")
	}
	if m.listed {
		s.count = int64(len(m.urls))
	}
	if n := len(runs); n > 0 && runs[n-1].open && s.there == MaxTicks && s.end == MaxTicks {
		runs[n-1].count = 1 // nothing tells how many there are
	}
	var out []watch.Segment
	ending := one.ticks(m.addressing)
	for _, at := range newest(runs, s, room) {
		if !explicit {
			at.length = min(at.length, ending-at.at) // the last of a Period may be shorter
		}
		made, err := m.segment(at)
		if err != nil {
			return nil, err
		}
		if placed {
			after, ok := scale(at.at-m.offset, m.timescale)
			if !ok {
				return nil, tooLarge()
			}
			made.ProgramTime = p.epoch.Add(one.start + after)
		}
		out = append(out, made)
	}
	return out, nil
}

// span tells which segments of a Period are there, and whether their times can
// be believed.
func (p *presentation) span(one period, a addressing, runs []run, explicit bool) (s span, placed bool) {
	s = span{there: MaxTicks, end: MaxTicks, count: math.MaxInt64}
	if len(runs) == 0 {
		return s, p.timed()
	}
	last := runs[len(runs)-1]
	if p.live && a.listed && a.timeline == nil {
		return s, false // where a list of equal lengths has moved to is not stated
	}
	s.end = one.ticks(a)
	if !explicit && s.end < MaxTicks {
		s.end -= ticks(sliver, a.timescale)
	}
	s.from = a.offset
	if p.live && p.timed() {
		s.there = min(MaxTicks, a.offset+ticks(p.now-one.start, a.timescale))
		if explicit && runs[0].from > min(MaxTicks, s.there+ticks(farOff, a.timescale)) {
			return span{there: MaxTicks, end: MaxTicks, count: math.MaxInt64}, false
		}
		if !explicit || last.open {
			s.there -= last.length // only the clock says that it is there
		}
	}
	if explicit && last.to() <= a.offset {
		return span{there: MaxTicks, end: MaxTicks, count: math.MaxInt64}, false
	}
	return s, p.timed()
}

// ticks is the media time at which a Period ends.
func (one period) ticks(a addressing) int64 {
	if one.end == forever {
		return MaxTicks
	}
	return min(MaxTicks, a.offset+ticks(one.end-one.start, a.timescale))
}

// whole is the one segment of a presentation that is a single file.
func (p *presentation) whole(one period, base *url.URL, container string) ([]watch.Segment, error) {
	length := one.end - one.start
	if length > MaxDuration || length < MinDuration {
		return nil, nil // it is not said how long it is
	}
	s := watch.Segment{URI: base.String(), Duration: length, Container: container}
	if p.timed() {
		s.ProgramTime = p.epoch.Add(one.start)
	}
	return []watch.Segment{s}, nil
}
