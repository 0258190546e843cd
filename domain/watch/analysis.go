package watch

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// handleAnalysis takes in the analysis of a segment.
func (w *Watcher) handleAnalysis(o Analysis) {
	at := slices.IndexFunc(w.state.Feeds, func(f *mediaFeed) bool { return f.pending != nil && f.pending.ID() == o.Segment })
	if at < 0 {
		return
	}
	f := w.state.Feeds[at]
	segment, bisecting := *f.pending, len(f.bisection.samples) > 0
	if o.Failure == nil && !o.Video.decoded() && !o.Audio.decoded() {
		o.Failure = NewFailure(FailureUndecodable, "neither picture nor sound could be decoded") // S4
	}
	f.pending = nil
	switch {
	case o.Failure != nil && bisecting:
		f.listing.segments = slices.DeleteFunc(slices.Clone(f.listing.segments), func(s Segment) bool { return s.ID() == o.Segment })
		f.bisection.steps++
		w.bisect(f)
		return
	case o.Failure != nil:
		f.Newest.Failed = true
		w.handleMediaFailure(f, event.FailedSegment, o.Failure, o.Began)
		return
	}
	w.recordObserved()
	w.state.Statistics.TotalSegmentsAnalyzed++
	w.state.LastCheckAt = w.now
	if !bisecting {
		f.Newest.Analysed = true
		w.state.Resolve.contradictClaim(f.Newest.Since, &w.emitter)
		if w.now.Sub(f.Newest.unchangedSince()) < stallLimit { // else the media are from before the stall
			w.state.Feeds.endOutage(f, w.state.Conditions, &w.emitter)
		}
		f.bisection.startedAt = w.now
	}
	f.bisection.add(newSample(segment, f.Tracks, o))
	f.bisection.steps++
	w.bisect(f)
}

// bisect chooses the next segment of a bisection, which the media lane analyses.
// It applies the samples once no such segment remains, or after bisectionLimit.
func (w *Watcher) bisect(f *mediaFeed) {
	if w.now.Sub(f.bisection.startedAt) < bisectionLimit {
		if next, closely, ok := f.bisection.next(w.state.Conditions, detectorsOf(f.Tracks), f.listing.segments, f.Screened); ok {
			f.pending, f.calm = &next, w.plan().calm(f, next).closely(closely)
			if f.Screened != nil && next.Same(*f.Screened) {
				next, f.Screened = f.listed(next), nil
			}
			return
		}
	}
	w.applySamples(f)
}

// applySamples applies the samples of a feed to its conditions, and emits the
// alerts and recoveries.
func (w *Watcher) applySamples(f *mediaFeed) {
	for _, s := range f.bisection.samples {
		for _, d := range detectorsOf(f.Tracks) {
			for range w.state.Conditions.of(d).advance(d, w.rules.threshold(d), s, &w.emitter) {
				w.state.Statistics.Count(d.Name)
			}
		}
	}
	if n := len(f.bisection.samples); n > 0 {
		f.Screened = nil
		if last := f.bisection.samples[n-1]; len(last.screenedUntil) > 0 {
			f.Screened = &last.segment
		}
	}
	f.bisection = bisection{}
}
