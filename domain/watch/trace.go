package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// trace is the search for the instant at which a condition changed. Only the
// newest segment is analysed at each check (6.1), so with checks further apart than
// segments are long, a change may lie in one that was never looked at. While
// those are still in the playlist, the trace bisects them; each step costs
// one more analysis, and there are steps only when something has changed.
//
//	last sample        not looked at            newest sample
//	[ good good ]  [   ][   ][ ? ][   ][   ]    [ black black ]
//
// It also looks between two bad samples, for good media that nobody saw: always
// until the condition has been told, since two pauses in speech are not one
// long silence, and then where neither sample is bad throughout.
type trace struct {
	Samples []sample  // waiting to be passed on, oldest first; the last is the newest
	Steps   int       // analyses made
	Began   time.Time // when the first of them was done
}

// add puts a sample in its place.
func (t *trace) add(s sample) {
	i := len(t.Samples)
	for i > 0 && s.start().Before(t.Samples[i-1].start()) {
		i--
	}
	t.Samples = append(t.Samples, sample{})
	copy(t.Samples[i+1:], t.Samples[i:])
	t.Samples[i] = s
}

// next is the segment to analyse before the samples can be passed on, if any:
// the middle one of those in window that lie where a condition that is judged
// is in doubt.
func (t *trace) next(known conditions, judged []detector.Detector, window []Segment) (Segment, bool) {
	if t.Steps >= maxTraceAnalyses {
		return Segment{}, false
	}
	// Where it changed comes first: what lies between two bad samples may use
	// up the steps that are left, not those that an onset needs.
	for _, doubt := range []func(*condition, detector.Name, int) bool{t.changed, t.unseen} {
		for i := range t.Samples {
			for _, d := range judged {
				c := known.of(d)
				if !doubt(c, d.Name, i) {
					continue
				}
				if middle, ok := t.middle(c.Until, i, window); ok {
					return middle, true
				}
			}
		}
	}
	return Segment{}, false
}

// middle is the segment in the middle of those in window that lie between
// sample i and the one before it, or, before the first, what was judged until
// then.
func (t *trace) middle(until time.Time, i int, window []Segment) (Segment, bool) {
	if i > 0 {
		until = t.Samples[i-1].end()
	}
	var between []Segment
	for _, s := range window {
		if !s.start().Before(until.Add(-edge)) && !s.end().After(t.Samples[i].start().Add(edge)) {
			between = append(between, s)
		}
	}
	if len(between) == 0 {
		return Segment{}, false
	}
	return between[len(between)/2], true
}

// changed tells whether a condition has changed before sample i.
func (t *trace) changed(known *condition, d detector.Name, i int) bool {
	bad, _, seen := t.before(known, d, i)
	return seen && bad != t.Samples[i].startsBad(d)
}

// unseen tells whether a condition, bad before sample i and at its start, may
// have been good in between.
func (t *trace) unseen(known *condition, d detector.Name, i int) bool {
	s := t.Samples[i]
	bad, solid, seen := t.before(known, d, i)
	return seen && bad && s.startsBad(d) && (!known.Alerted || !solid && !s.wholly(d))
}

// before is the state of a condition where sample i's predecessor ends, and
// whether that was bad throughout.
func (t *trace) before(known *condition, d detector.Name, i int) (bad, solid, seen bool) {
	if i > 0 {
		return t.Samples[i-1].endsBad(d), t.Samples[i-1].wholly(d), true
	}
	return known.Open, known.Solid, known.Seen
}
