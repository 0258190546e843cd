package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// sample is one analysed segment on the media timeline: where it is and when
// each condition was bad in it.
type sample struct {
	segment Segment // with its ProgramTime
	bad     map[detector.Name][]stretch
}

// stretch is a bad part of a sample.
type stretch struct{ from, to time.Time }

func (s sample) start() time.Time { return s.segment.start() }
func (s sample) end() time.Time   { return s.segment.end() }

// covers tells whether the whole sample is bad.
func (b stretch) covers(s sample) bool {
	return !b.from.After(s.start().Add(edge)) && !b.to.Before(s.end())
}

// judge turns what a decoder saw into what it means (decision S4).
func judge(s Segment, a Analysis) sample {
	out := sample{segment: s, bad: map[detector.Name][]stretch{}}
	// Program time is that of the first picture. Packagers put the sound of a
	// segment with reordered pictures some milliseconds before it.
	var zero time.Duration
	if a.Video.decoded() && a.Video.From <= soundAhead {
		zero = a.Video.From
	}
	for _, d := range detector.Table {
		t := a.track(d.Track)
		switch {
		case t.decoded():
			out.bad[d.Name] = stretches(s, t, a.intervals(d), zero)
		case judgements[d.Name].withoutTrack:
			out.bad[d.Name] = []stretch{{s.start(), s.end()}}
		}
	}
	return out
}

// stretches puts the bad intervals of a track on the media timeline. An interval
// that reaches an end of its track goes on to that end of the segment, because
// the tracks of a segment seldom begin and end together.
func stretches(s Segment, t Track, bad []Interval, zero time.Duration) []stretch {
	var out []stretch
	for _, span := range bad {
		b := stretch{s.start().Add(span.From - zero), s.start().Add(span.To - zero)}
		if span.From <= t.From || b.from.Before(s.start()) {
			b.from = s.start()
		}
		if span.To >= t.To || b.to.After(s.end()) {
			b.to = s.end()
		}
		if b.to.After(b.from) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b stretch) int { return a.from.Compare(b.from) })
	return out
}

// startsBad and endsBad tell the state of a condition at the sample's edges;
// wholly whether it is bad in between as well.
func (s sample) startsBad(d detector.Name) bool {
	return len(s.bad[d]) > 0 && !s.bad[d][0].from.After(s.start().Add(edge))
}

func (s sample) endsBad(d detector.Name) bool {
	n := len(s.bad[d])
	return n > 0 && !s.bad[d][n-1].to.Before(s.end())
}

func (s sample) wholly(d detector.Name) bool {
	return len(s.bad[d]) > 0 && s.bad[d][0].covers(s)
}
