package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
)

// analyses handles the analyses of segments.
type analyses struct{ *stream }

// handle takes in the analysis of a segment.
func (a analyses) handle(o Analysis) {
	at := slices.IndexFunc(a.state.Feeds, func(f *mediaFeed) bool { return f.pending != nil && f.pending.ID() == o.Segment })
	if at < 0 {
		return
	}
	f := a.state.Feeds[at]
	segment, bisecting := *f.pending, len(f.bisection.samples) > 0
	if o.Failure == nil && !o.Video.Decoded() && !o.Audio.Decoded() {
		o.Failure = NewFailure(FailureUndecodable, "neither picture nor sound could be decoded") // S4
	}
	f.pending = nil
	switch {
	case o.Failure != nil && bisecting:
		f.listing.segments = slices.DeleteFunc(slices.Clone(f.listing.segments), func(s Segment) bool { return s.ID() == o.Segment })
		f.bisection.steps++
		a.bisect(f)
		return
	case o.Failure != nil:
		f.Newest.Failed = true
		outages(a).recordFailure(f, event.FailedSegment, o.Failure, o.Began)
		return
	}
	a.recordObserved()
	a.state.Statistics.TotalSegmentsAnalyzed++
	a.state.LastCheckAt = a.now
	if !bisecting {
		f.Newest.Analysed = true
		if !f.listing.endsWithAd() { // else it is older than the newest
			a.state.Resolve.contradictClaim(f.Newest.Since, &a.emitter)
		}
		if a.now.Sub(f.Newest.unchangedSince()) < stallLimit { // else the media are from before the stall
			outages(a).endOf(f)
		}
		f.bisection.startedAt = a.now
	}
	f.bisection.add(newSample(segment, f.Tracks, o))
	f.bisection.steps++
	a.bisect(f)
}

// bisect chooses the next segment of a bisection, which the media lane analyses.
// It applies the samples once no such segment remains, or after bisectionLimit.
func (a analyses) bisect(f *mediaFeed) {
	if a.now.Sub(f.bisection.startedAt) < bisectionLimit {
		if next, closely, ok := f.bisection.next(a.state.Conditions, a.rules.running(f.Tracks), f.listing.segments, f.Screened); ok {
			f.pending, f.look = &next, a.plan().look(f, next).closely(closely)
			if f.Screened != nil && next.Same(*f.Screened) {
				next, f.Screened = f.listed(next), nil
			}
			return
		}
	}
	a.apply(f)
}

// soundGoesOn reports whether the sound was not silent when it was last judged. An outage says nothing
// about it.
func (a analyses) soundGoesOn() bool {
	c := a.state.Conditions[detector.Silence]
	return c != nil && c.Seen && !c.Open && !a.state.Feeds.trackInOutage(detector.Audio, a.now)
}

// apply applies the samples of a feed to its conditions, and emits the
// alerts and recoveries.
func (a analyses) apply(f *mediaFeed) {
	renditions := otherRenditionLooks(a).judge(f)
	for _, s := range f.bisection.samples {
		a.passAds(f, s.From)
		if !f.Tracks.Audio {
			s.OtherSound = a.soundGoesOn()
			s.Tone, a.state.otherTone = a.state.otherTone, nil
		} else if !f.Tracks.Video {
			a.state.otherTone = s.Tone
		}
		s.Captions, s.CaptionsDeclared = a.state.Text.captions(s.Captions), f.HasCaptions || a.state.Text.URL != ""
		s.Renditions, s.Taken = renditions, s.Taken|detector.Renditions
		for d := range a.rules.running(f.Tracks) {
			c := a.state.Conditions.of(d)
			for range c.advance(d, a.rules.threshold(d), s, c.judge(d, s, a.rules), &a.emitter) {
				a.state.Statistics.Count(d.Name)
			}
		}
	}
	if f.listing.endsWithAd() {
		a.passAds(f, time.Time{})
	}
	if n := len(f.bisection.samples); n > 0 {
		f.Screened = nil
		if last := f.bisection.samples[n-1]; last.screened() {
			f.Screened = &last.segment
		}
	}
	f.bisection = bisection{}
}
