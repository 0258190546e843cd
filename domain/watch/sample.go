package watch

import (
	"slices"
	"time"
)

// sample is one analysed segment on the media timeline: where it is and when
// each condition was bad in it.
type sample struct {
	segment Segment // with its ProgramTime
	bad     [len(detectors)][]stretch
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
	out := sample{segment: s}
	// Program time is that of the first picture. Packagers put the sound of a
	// segment with reordered pictures some milliseconds before it.
	var zero time.Duration
	if a.Video.decoded() && a.Video.From <= soundAhead {
		zero = a.Video.From
	}
	for i, d := range detectors {
		out.bad[i] = stretches(s, d.track(a), zero)
	}
	return out
}

// stretches puts the bad spans of a track on the media timeline. A track that
// is missing, or of which nothing could be decoded, is bad throughout. A span
// that reaches an end of its track goes on to that end of the segment, because
// the tracks of a segment seldom begin and end together.
func stretches(s Segment, t Track, zero time.Duration) []stretch {
	if !t.decoded() {
		return []stretch{{s.start(), s.end()}}
	}
	var out []stretch
	for _, span := range t.Bad {
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

// startsBad and endsBad tell the state of condition i at the sample's edges;
// wholly whether it is bad in between as well.
func (s sample) startsBad(i int) bool {
	return len(s.bad[i]) > 0 && !s.bad[i][0].from.After(s.start().Add(edge))
}

func (s sample) endsBad(i int) bool {
	n := len(s.bad[i])
	return n > 0 && !s.bad[i][n-1].to.Before(s.end())
}

func (s sample) wholly(i int) bool {
	return len(s.bad[i]) > 0 && s.bad[i][0].covers(s)
}
