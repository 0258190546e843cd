package dash

import (
	"cmp"
	"net/url"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// playlist lists the segments of the selected representations. p must hold only
// these.
func (p *presentation) playlist(selected selection) (watch.Playlist, error) {
	out := watch.Playlist{Ended: p.ended()}
	var unusable *watch.Failure // why the newest unusable Period is left out
	for i := len(p.periods) - 1; i >= 0 && len(out.Segments) < KeptSegments; i-- {
		period := p.periods[i]
		if _, ok := selected[period.index]; !ok {
			continue
		}
		older, err := p.segments(period, KeptSegments-len(out.Segments))
		if err != nil {
			p.note(err.Detail)
			unusable = cmp.Or(unusable, err)
			continue
		}
		out.Segments = append(dropOverlap(older, out.Segments), out.Segments...)
	}
	if p.live {
		out.Segments = trimToDepth(out.Segments, roundedDuration(p.mpd.TimeShiftBufferDepth))
	}
	if len(out.Segments) == 0 && unusable != nil {
		return watch.Playlist{}, unusable
	}
	if len(out.Segments) == 0 && !out.Ended {
		failure := malformed("%s", cmp.Or(p.defect, "a live MPD without an available segment"))
		failure.Empty = p.defect == ""
		return watch.Playlist{}, failure
	}
	out.Defect = p.defect
	out.TargetDuration = targetDuration(out.Segments, roundedDuration(p.mpd.MaxSegmentDuration))
	return out, nil
}

// dropOverlap removes segments at the end of older that do not begin before newer.
func dropOverlap(older, newer []watch.Segment) []watch.Segment {
	if len(newer) > 0 && !newer[0].ProgramTime.IsZero() {
		for n := len(older); n > 0 && !older[n-1].ProgramTime.Before(newer[0].ProgramTime); n-- {
			older = older[:n-1]
		}
	}
	return older
}

// trimToDepth removes segments that begin more than depth before the end of the
// newest. A depth of 0 removes none.
func trimToDepth(segments []watch.Segment, depth time.Duration) []watch.Segment {
	n := len(segments)
	if n == 0 || depth == 0 || segments[n-1].ProgramTime.IsZero() {
		return segments
	}
	last := segments[n-1]
	oldest := last.ProgramTime.Add(last.Duration).Add(-depth)
	for i := range segments[:n-1] {
		if t := segments[i].ProgramTime; t.IsZero() || !t.Before(oldest) {
			return segments[i:]
		}
	}
	return segments[n-1:]
}

// targetDuration returns the duration of the longest segment, or a shorter
// maxSegmentDuration.
func targetDuration(segments []watch.Segment, stated time.Duration) time.Duration {
	var longest time.Duration
	for _, s := range segments {
		longest = max(longest, s.Duration)
	}
	if stated >= MinDuration && (stated < longest || longest == 0) {
		return stated
	}
	return longest
}

// segments lists the newest segments of a Period's selected representation, at most
// limit, oldest first. It leaves out single segments that cannot be addressed. Its failure is why
// none can be.
func (p *presentation) segments(period timedPeriod, limit int) ([]watch.Segment, *watch.Failure) {
	set := period.AdaptationSets[0]
	rep := set.Representations[0]
	bases := p.resolveBaseURLs(p.resolveBaseURLs(period.bases, set.BaseURLs), rep.BaseURLs)
	container := containers[mimeType(set, rep)]
	if isSingleFile(period, set, rep) {
		return p.singleFile(period, bases[0], container), nil
	}
	b, failure := newSegmentBuilder(newAddressing(period, set, rep), bases, container, rep)
	if failure != nil {
		return nil, failure
	}
	runs, explicit, failure := b.runs(p, period)
	if failure != nil {
		return nil, failure
	}
	w, timed := p.window(period, b.addressing, runs, explicit)
	if !timed && !explicit && p.live {
		return nil, malformed("availabilityStartTime is missing, without which the available segments are unknown")
	}
	if b.isList {
		w.count = int64(len(b.urls))
	}
	if n := len(runs); n > 0 && runs[n-1].openEnded && w.available == MaxTicks && w.end == MaxTicks {
		runs[n-1].count = 1 // the real number is unknown
	}
	var out []watch.Segment
	periodEnd := period.endTicks(b.addressing)
	for _, t := range newest(runs, w, limit) {
		if !explicit {
			t.duration = min(t.duration, periodEnd-t.start) // the last of a Period may be shorter
		}
		s, failure := b.segment(t)
		sincePeriodStart, ok := toDuration(t.start-b.offset, b.timescale)
		if timed && !ok {
			failure = timeTooLarge()
		}
		if failure != nil {
			p.note(failure.Detail)
			continue
		}
		if timed {
			s.ProgramTime = p.availabilityStart.Add(period.start + sincePeriodStart)
		}
		out = append(out, s)
	}
	return out, nil
}

// window returns the bounds of the available segments of a Period. timed reports
// whether the segments have a place on the clock. explicit: the MPD lists each segment, so
// that it is available by any clock of this machine or of a server. The clock by which the MPD
// itself is made shows whether some are only announced.
func (p *presentation) window(period timedPeriod, a addressing, runs []run, explicit bool) (w window, timed bool) {
	w = unbounded
	if len(runs) == 0 {
		return w, p.hasClock()
	}
	last := runs[len(runs)-1]
	if p.live && a.isList && a.timeline == nil {
		return w, false // an MPD does not say how far such a list has moved
	}
	w.end = period.endTicks(a)
	if !explicit && w.end < MaxTicks {
		w.end -= toTicks(minRemainder, a.timescale)
	}
	w.from = a.offset
	if p.live && p.hasClock() {
		now := min(MaxTicks, a.offset+toTicks(p.now-period.start, a.timescale))
		latest := min(MaxTicks, now+toTicks(maxLead, a.timescale))
		switch {
		case explicit && runs[0].start > latest:
			return unbounded, false
		case !explicit:
			w.available = now - last.duration // only the clock says that the newest exists
		case last.openEnded:
			w.available = max(now-last.duration, last.start)
		case p.clock == utcTiming, last.end() > latest:
			w.available = max(now, runs[0].start+runs[0].duration)
		}
	}
	if explicit && last.end() <= a.offset {
		return unbounded, false
	}
	return w, p.hasClock()
}

// endTicks returns the media time at which a Period ends.
func (period timedPeriod) endTicks(a addressing) int64 {
	if period.end == noEnd {
		return MaxTicks
	}
	return min(MaxTicks, a.offset+toTicks(period.end-period.start, a.timescale))
}

// singleFile lists a Period's single file as one segment. It lists none if the
// duration of the Period is unknown.
func (p *presentation) singleFile(period timedPeriod, base *url.URL, container string) []watch.Segment {
	duration := period.end - period.start
	if duration > MaxDuration || duration < MinDuration {
		return nil
	}
	s := watch.Segment{URI: base.String(), Duration: duration, Container: container}
	if p.hasClock() {
		s.ProgramTime = p.availabilityStart.Add(period.start)
	}
	return []watch.Segment{s}
}
