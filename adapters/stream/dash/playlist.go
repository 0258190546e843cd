package dash

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// playlist lists the segments of what was chosen, to which p was cut down.
func (p *presentation) playlist(chosen choice) (watch.Playlist, error) {
	out := watch.Playlist{Ended: p.ended()}
	for i := len(p.periods) - 1; i >= 0 && len(out.Segments) < KeptSegments; i-- {
		one := p.periods[i]
		if _, ok := chosen[one.index]; !ok {
			continue
		}
		older, err := p.segments(one, KeptSegments-len(out.Segments))
		if err != nil {
			return watch.Playlist{}, err
		}
		out.Segments = append(before(older, out.Segments), out.Segments...)
	}
	if p.live {
		out.Segments = window(out.Segments, exact(p.mpd.TimeShiftBufferDepth))
	}
	if len(out.Segments) == 0 && !out.Ended {
		return watch.Playlist{}, malformed("a live MPD without a segment that is there yet")
	}
	out.TargetDuration = target(out.Segments, exact(p.mpd.MaxSegmentDuration))
	return out, nil
}

// before leaves out of the segments of one Period those that do not begin
// before the next.
func before(older, newer []watch.Segment) []watch.Segment {
	if len(newer) > 0 && !newer[0].ProgramTime.IsZero() {
		for n := len(older); n > 0 && !older[n-1].ProgramTime.Before(newer[0].ProgramTime); n-- {
			older = older[:n-1]
		}
	}
	return older
}

// window leaves out segments that begin more than depth before the end of the
// newest; 0: none.
func window(segments []watch.Segment, depth time.Duration) []watch.Segment {
	n := len(segments)
	if n == 0 || depth == 0 || segments[n-1].ProgramTime.IsZero() {
		return segments
	}
	newest := segments[n-1]
	from := newest.ProgramTime.Add(newest.Duration).Add(-depth)
	for i := range segments[:n-1] {
		if at := segments[i].ProgramTime; at.IsZero() || !at.Before(from) {
			return segments[i:]
		}
	}
	return segments[n-1:]
}

// target is the longest segment, or less where the MPD promises less.
func target(segments []watch.Segment, stated time.Duration) time.Duration {
	var longest time.Duration
	for _, s := range segments {
		longest = max(longest, s.Duration)
	}
	if stated >= MinDuration && (stated < longest || longest == 0) {
		return stated
	}
	return longest
}
