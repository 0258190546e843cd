package watch

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
	Samples []sample // waiting to be passed on, oldest first; the last is the newest
	Steps   int      // analyses made
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
func (t *trace) next(conditions [len(detectors)]condition, judged judges, window []Segment) (Segment, bool) {
	if t.Steps >= maxTraceAnalyses {
		return Segment{}, false
	}
	for i := range t.Samples {
		for c := range conditions {
			if !judged[c] || !t.doubt(conditions[c], c, i) {
				continue
			}
			after := conditions[c].Until
			if i > 0 {
				after = t.Samples[i-1].end()
			}
			var between []Segment
			for _, s := range window {
				if !s.start().Before(after.Add(-edge)) && !s.end().After(t.Samples[i].start().Add(edge)) {
					between = append(between, s)
				}
			}
			if len(between) > 0 {
				return between[len(between)/2], true
			}
		}
	}
	return Segment{}, false
}

// doubt tells whether condition c may have changed, unseen, before sample i.
func (t *trace) doubt(known condition, c, i int) bool {
	s := t.Samples[i]
	bad, solid := known.Open, known.Solid
	if i > 0 {
		bad, solid = t.Samples[i-1].endsBad(c), t.Samples[i-1].wholly(c)
	} else if !known.Seen {
		return false
	}
	if bad != s.startsBad(c) {
		return true
	}
	return bad && (!known.Alerted || !solid && !s.wholly(c))
}
