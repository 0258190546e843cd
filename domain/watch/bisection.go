package watch

import (
	"iter"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// bisection finds the segment in which a condition changed (decision S1). Each
// check analyses only the newest segment (section 6.1). If a segment is shorter
// than the check interval, a condition may change in a segment between two checks.
// The bisection analyses the middle one of the segments that the playlist still
// lists, again and again. Each step costs one analysis.
//
//	last sample        not analysed             newest sample
//	[ good good ]  [   ][   ][ ? ][   ][   ]    [ black black ]
//
// It also looks for good media between two bad samples, because two pauses in
// speech are not one long silence. After the alert it does so only if neither
// sample is bad throughout. Otherwise each check of a long silence would search.
//
// If a track turned bad after a segment of which not every frame was decoded (decision S18), that
// segment is analysed again. Its end may be bad already.
type bisection struct {
	samples   []sample  // not applied yet, oldest first
	steps     int       // analyses so far
	startedAt time.Time // when the analysis of the newest segment ended
}

// add inserts a sample in the order of media time. A closer look at the same segment
// replaces the screen.
func (b *bisection) add(s sample) {
	b.samples = slices.DeleteFunc(b.samples, func(other sample) bool { return other.segment.Same(s.segment) })
	i := len(b.samples)
	for i > 0 && s.From.Before(b.samples[i-1].From) {
		i--
	}
	b.samples = slices.Insert(b.samples, i, s)
}

// next returns the segment to analyse next, if any. It is the middle one of a gap
// in which a condition changed or may have recovered. The samples have not yet been
// applied to the current conditions. If the sample before them is a screen, screened is
// its segment. Every frame of the tracks that next returns is to be decoded.
func (b *bisection) next(current conditions, judged iter.Seq[detector.Detector], window []Segment, screened *Segment) (Segment, trackSet, bool) {
	if b.steps >= maxBisectionSteps {
		return Segment{}, trackSet{}, false
	}
	// Gaps with a change come first. The search for good media gets the steps that
	// are left.
	for _, suspect := range []func(*condition, detector.Name, int) bool{b.changed, b.mayHaveRecovered} {
		for i := range b.samples {
			for d := range judged {
				if d.Rule != nil {
					continue
				}
				c := current.of(d)
				if !suspect(c, d.Name, i) {
					continue
				}
				if middle, ok := b.middle(c.JudgedUntil, i, window); ok {
					return middle, trackSet{Video: d.Track == detector.Video, Audio: d.Track == detector.Audio}, true
				}
				if before, ok := b.screenedBefore(c, d, i, screened); ok {
					return before, bothTracks, true
				}
			}
		}
	}
	return Segment{}, trackSet{}, false
}

// screenedBefore returns the segment before sample i if the track of a detector turned bad
// between the last frame that was decoded of it and sample i. Bad media that are too short to
// count have no such look.
func (b *bisection) screenedBefore(c *condition, d detector.Detector, i int, screened *Segment) (Segment, bool) {
	s := b.samples[i]
	switch {
	case !s.startsBad(d.Name) || s.badPeriods(d.Name)[0].To.Sub(s.badPeriods(d.Name)[0].From) < d.Minimum:
		return Segment{}, false
	case i > 0:
		return b.samples[i-1].segment, b.samples[i-1].judgedUntil(d).Before(b.samples[i-1].To)
	case screened == nil || c.JudgedUntil.Before(screened.ProgramTime) || !c.JudgedUntil.Before(screened.End()):
		return Segment{}, false
	}
	return *screened, true
}

// middle returns the middle one of the segments of window that lie between sample i
// and its predecessor. The predecessor of the first sample ends at judgedUntil.
func (b *bisection) middle(judgedUntil time.Time, i int, window []Segment) (Segment, bool) {
	from := judgedUntil
	if i > 0 {
		from = b.samples[i-1].To
	}
	var between []Segment
	for _, s := range window {
		if !s.Ad && !s.ProgramTime.Before(from.Add(-boundaryTolerance)) && !s.End().After(b.samples[i].From.Add(boundaryTolerance)) {
			between = append(between, s)
		}
	}
	if len(between) == 0 {
		return Segment{}, false
	}
	return between[len(between)/2], true
}

// changed reports whether a condition changed between sample i and its predecessor.
func (b *bisection) changed(current *condition, d detector.Name, i int) bool {
	bad, _, seen := b.precedingState(current, d, i)
	return seen && bad != b.samples[i].startsBad(d)
}

// mayHaveRecovered reports whether to look for good media between sample i and its
// predecessor. The predecessor's end and the start of sample i are bad.
func (b *bisection) mayHaveRecovered(current *condition, d detector.Name, i int) bool {
	s := b.samples[i]
	bad, throughout, seen := b.precedingState(current, d, i)
	return seen && bad && s.startsBad(d) && (!current.Alerted || !throughout && !s.badThroughout(d))
}

// precedingState returns the state of a condition at the end of sample i's
// predecessor, and whether that predecessor was bad throughout.
func (b *bisection) precedingState(current *condition, d detector.Name, i int) (bad, throughout, seen bool) {
	if i > 0 {
		return b.samples[i-1].endsBad(d), b.samples[i-1].badThroughout(d), true
	}
	return current.Open, current.LastBadThroughout, current.Seen
}

// sample is an analysed segment on the media timeline.
type sample struct {
	detector.Sample

	segment  Segment                            // with its ProgramTime
	verdicts map[detector.Name]detector.Verdict // of the detectors that judge each sample by itself
}

// badPeriods returns the bad parts by a detector that judges each sample by itself.
func (s sample) badPeriods(d detector.Name) []detector.Period { return s.verdicts[d].Bad }

// judgedUntil returns until when the sample shows what a detector judges. A screen shows
// a track until the last frame that was decoded.
func (s sample) judgedUntil(d detector.Detector) time.Time {
	if t := s.Track(d.Track); t.Screened && s.At(t.To).Before(s.To) && d.Rule == nil {
		return s.At(t.To)
	}
	return s.To
}

// screened reports whether not every frame of a track was decoded.
func (s sample) screened() bool { return s.Video.Screened || s.Audio.Screened }

// coveredBy reports whether the period is the whole sample.
func (s sample) coveredBy(p detector.Period) bool {
	return !p.From.After(s.From.Add(boundaryTolerance)) && !p.To.Before(s.To)
}

// newSample puts the analysis of a segment on the media timeline. A track that the feed is not watched
// for is not screened: nothing has to be looked at again for it.
func newSample(s Segment, tracks trackSet, a Analysis) sample {
	out := sample{segment: s, verdicts: map[detector.Name]detector.Verdict{}, Sample: detector.Sample{
		From: s.ProgramTime, To: s.End(), Origin: s.ProgramTime, Video: a.Video, Audio: a.Audio, Intervals: a.Intervals, Measured: a.Measured,
	}}
	// Program time belongs to the first picture. If pictures are reordered, packagers
	// begin the sound some milliseconds earlier. Times count from the first
	// timestamp of any track.
	if a.Video.Decoded() && a.Video.From <= audioLead {
		out.Origin = s.ProgramTime.Add(-a.Video.From)
	}
	out.Video.Screened, out.Audio.Screened = a.Video.Screened && tracks.Video, a.Audio.Screened && tracks.Audio
	for _, d := range detector.Table {
		if d.Rule == nil {
			_, out.verdicts[d.Name] = d.Judge(nil, time.Time{}, out.Sample, nil)
		}
	}
	return out
}

// startsBad and endsBad report whether the sample is bad at its edges, badThroughout
// reports whether it is bad throughout.
func (s sample) startsBad(d detector.Name) bool {
	return len(s.badPeriods(d)) > 0 && !s.badPeriods(d)[0].From.After(s.From.Add(boundaryTolerance))
}

func (s sample) endsBad(d detector.Name) bool {
	n := len(s.badPeriods(d))
	return n > 0 && !s.badPeriods(d)[n-1].To.Before(s.To)
}

func (s sample) badThroughout(d detector.Name) bool {
	return len(s.badPeriods(d)) > 0 && s.coveredBy(s.badPeriods(d)[0])
}
