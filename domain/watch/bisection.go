package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// bisection searches the segment in which a condition changed (decision S1).
// Each check analyses only the newest segment (section 6.1). With checks further
// apart than segments are long, a change may lie in a segment that was not
// analysed. While that is still in the playlist, the bisection halves the
// interval; each step costs one more analysis.
//
//	last sample        not analysed             newest sample
//	[ good good ]  [   ][   ][ ? ][   ][   ]    [ black black ]
//
// It also looks for good media between two bad samples, because two pauses in
// speech are not one long silence. After the alert it does so only where neither
// sample is bad throughout.
type bisection struct {
	samples []sample  // that are not applied yet, oldest first
	steps   int       // analyses so far
	began   time.Time // when the newest segment had been analysed
}

// add puts a sample in its place.
func (b *bisection) add(s sample) {
	i := len(b.samples)
	for i > 0 && s.start().Before(b.samples[i-1].start()) {
		i--
	}
	b.samples = append(b.samples, sample{})
	copy(b.samples[i+1:], b.samples[i:])
	b.samples[i] = s
}

// next returns the segment to analyse before the samples are applied, if any. It
// is the middle one of those in window where a condition is in doubt.
func (b *bisection) next(known conditions, judged []detector.Detector, window []Segment) (Segment, bool) {
	if b.steps >= maxBisectionSteps {
		return Segment{}, false
	}
	// Changes come first: the search between two bad samples may use only the
	// steps that no onset needs.
	for _, doubt := range []func(*condition, detector.Name, int) bool{b.changed, b.maybeGood} {
		for i := range b.samples {
			for _, d := range judged {
				c := known.of(d)
				if !doubt(c, d.Name, i) {
					continue
				}
				if middle, ok := b.middle(c.JudgedUntil, i, window); ok {
					return middle, true
				}
			}
		}
	}
	return Segment{}, false
}

// middle is the segment in the middle of those in window that lie between sample
// i and its predecessor. That of the first sample ends at until.
func (b *bisection) middle(until time.Time, i int, window []Segment) (Segment, bool) {
	if i > 0 {
		until = b.samples[i-1].end()
	}
	var between []Segment
	for _, s := range window {
		if !s.start().Before(until.Add(-edge)) && !s.end().After(b.samples[i].start().Add(edge)) {
			between = append(between, s)
		}
	}
	if len(between) == 0 {
		return Segment{}, false
	}
	return between[len(between)/2], true
}

// changed reports whether a condition changed before sample i.
func (b *bisection) changed(known *condition, d detector.Name, i int) bool {
	bad, _, seen := b.before(known, d, i)
	return seen && bad != b.samples[i].startsBad(d)
}

// maybeGood reports whether a condition that is bad before sample i and at its
// start may have been good in between.
func (b *bisection) maybeGood(known *condition, d detector.Name, i int) bool {
	s := b.samples[i]
	bad, wholly, seen := b.before(known, d, i)
	return seen && bad && s.startsBad(d) && (!known.Alerted || !wholly && !s.wholly(d))
}

// before returns the state of a condition at the end of sample i's predecessor,
// and whether that predecessor was bad throughout.
func (b *bisection) before(known *condition, d detector.Name, i int) (bad, wholly, seen bool) {
	if i > 0 {
		return b.samples[i-1].endsBad(d), b.samples[i-1].wholly(d), true
	}
	return known.Open, known.WhollyBad, known.Seen
}

// sample is an analysed segment on the media timeline.
type sample struct {
	segment Segment // with its ProgramTime
	bad     map[detector.Name][]period
}

// period is a part of a sample, in media time.
type period struct{ from, to time.Time }

func (s sample) start() time.Time { return s.segment.start() }
func (s sample) end() time.Time   { return s.segment.end() }

// covers reports whether the period is the whole sample.
func (p period) covers(s sample) bool {
	return !p.from.After(s.start().Add(edge)) && !p.to.Before(s.end())
}

// newSample puts the intervals of an analysis on the media timeline. A detector
// may count a segment without its track as bad throughout (decision S4).
func newSample(s Segment, a Analysis) sample {
	out := sample{segment: s, bad: map[detector.Name][]period{}}
	// Program time is that of the first picture. Packagers put the sound of a
	// segment with reordered pictures some milliseconds before it.
	var zero time.Duration
	if a.Video.decoded() && a.Video.From <= audioLead {
		zero = a.Video.From
	}
	for _, d := range detector.Table {
		t := a.track(d.Track)
		switch {
		case t.decoded():
			out.bad[d.Name] = placeIntervals(s, t, a.Intervals[d.Name], zero)
		case judgements[d.Name].withoutTrack:
			out.bad[d.Name] = []period{{s.start(), s.end()}}
		}
	}
	return out
}

// placeIntervals puts bad intervals of a track on the media timeline. An interval
// that reaches an end of its track is extended to that end of the segment: the
// tracks of a segment seldom begin and end together.
func placeIntervals(s Segment, t Track, bad []Interval, zero time.Duration) []period {
	var out []period
	for _, i := range bad {
		b := period{s.start().Add(i.From - zero), s.start().Add(i.To - zero)}
		if i.From <= t.From || b.from.Before(s.start()) {
			b.from = s.start()
		}
		if i.To >= t.To || b.to.After(s.end()) {
			b.to = s.end()
		}
		if b.to.After(b.from) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b period) int { return a.from.Compare(b.from) })
	return out
}

// startsBad and endsBad report whether the sample is bad at its edges, wholly
// whether it is bad throughout.
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
