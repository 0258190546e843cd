package capture

import (
	"cmp"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Covering returns the segment that is playing at a time, and the time from its start.
// Between two segments it is the earlier one. Up to a second after the last segment it
// is that one.
func Covering(segments []watch.Segment, at time.Time) (s watch.Segment, offset time.Duration, ok bool) {
	for _, candidate := range segments {
		if candidate.ProgramTime.After(at) {
			break
		}
		s, ok = candidate, at.Before(candidate.End().Add(time.Second))
	}
	return s, at.Sub(s.ProgramTime), ok
}

// Counterpart returns the segment of another rendition with the pictures of a time.
// watched covers that time in the watched rendition. Without program time in p, the
// sequence number must be stated and equal, and the duration nearly.
func Counterpart(p watch.Playlist, watched watch.Segment, at time.Time) (s watch.Segment, offset time.Duration, ok bool) {
	for _, candidate := range p.Segments {
		if !candidate.ProgramTime.IsZero() {
			if offset := at.Sub(candidate.ProgramTime); offset >= 0 && offset < candidate.Duration {
				return candidate, offset, true
			}
			continue
		}
		if !candidate.Unnumbered && candidate.Sequence == watched.Sequence && (candidate.Duration-watched.Duration).Abs() < watched.Duration/5 {
			candidate.ProgramTime = watched.ProgramTime
			return candidate, at.Sub(watched.ProgramTime), true
		}
	}
	return watch.Segment{}, 0, false
}

// extraRendition returns the rendition that pictures are taken from: the largest of up to MaxHeight lines. It
// returns one without a URL if that has no more lines than the watched one.
func extraRendition(all []watch.Rendition, watched watch.Media) watch.Rendition {
	best := watch.Rendition{}
	for _, r := range all {
		if !r.HasVideo || r.Alternate || r.Height <= 0 || r.Height > MaxHeight || r.URL == "" {
			continue
		}
		order := cmp.Or(cmp.Compare(r.Height, best.Height), cmp.Compare(best.Bandwidth, r.Bandwidth), cmp.Compare(r.URL, best.URL))
		if best.URL == "" || order > 0 {
			best = r
		}
	}
	if best.URL == watched.URL || watched.Height > 0 && best.Height <= watched.Height {
		return watch.Rendition{}
	}
	return best
}

// merge adds the segments that a playlist now lists to those remembered. A listed one
// replaces all that do not end before it: they are its former URL, or were placed
// otherwise. It replaces those whose name it has, too. It forgets segments that ended long before the newest.
func merge(known, listed []watch.Segment) []watch.Segment {
	if len(listed) == 0 {
		return known
	}
	first, last := listed[0], listed[len(listed)-1]
	tolerance := first.Duration / 2
	known = slices.DeleteFunc(slices.Clone(known), func(s watch.Segment) bool {
		return s.End().After(first.ProgramTime.Add(tolerance)) || s.End().Before(last.End().Add(-remembered)) ||
			slices.ContainsFunc(listed, func(l watch.Segment) bool { return l.ID() == s.ID() || l.Same(s) })
	})
	listed = slices.DeleteFunc(slices.Clone(listed), func(s watch.Segment) bool { return s.End().Before(last.End().Add(-2 * remembered)) })
	return append(known, listed...)
}

// around returns the segments from Before an instant to After it. All have the
// initialisation section of the segment that covers the instant; at most MaxSegments are
// returned.
func around(segments []watch.Segment, instant time.Time) []watch.Segment {
	covering, _, ok := Covering(segments, instant)
	var out []watch.Segment
	for _, s := range segments {
		if !s.End().After(instant.Add(-Before)) || !s.ProgramTime.Before(instant.Add(After)) {
			continue
		}
		if ok && !sameInit(s, covering) {
			if s.ProgramTime.After(instant) {
				break
			}
			out = nil
			continue
		}
		out = append(out, s)
	}
	for len(out) > MaxSegments {
		if last := out[len(out)-1]; last.ProgramTime.Sub(instant) > instant.Sub(out[0].ProgramTime) {
			out = out[:len(out)-1]
		} else {
			out = out[1:]
		}
	}
	return out
}

func sameInit(a, b watch.Segment) bool {
	if a.Init == nil || b.Init == nil {
		return a.Init == b.Init
	}
	sameRange := a.Init.Range == b.Init.Range || a.Init.Range != nil && b.Init.Range != nil && *a.Init.Range == *b.Init.Range
	return a.Init.URI == b.Init.URI && sameRange
}
