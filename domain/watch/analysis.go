package watch

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// analysed takes in the analysis of a segment.
func (w *Watcher) analysed(o Analysis) {
	at := slices.IndexFunc(w.state.Feeds, func(f *feed) bool { return f.pending != nil && f.pending.ID() == o.Segment })
	if at < 0 {
		return
	}
	f := w.state.Feeds[at]
	segment, bisecting := *f.pending, len(f.bisection.samples) > 0
	f.pending = nil
	if o.Failure == nil && !o.Video.decoded() && !o.Audio.decoded() {
		o.Failure = NewFailure(FailureUndecodable, "neither picture nor sound could be decoded") // S4
	}
	switch {
	case o.Failure != nil && bisecting:
		f.window = slices.DeleteFunc(slices.Clone(f.window), func(s Segment) bool { return s.ID() == o.Segment })
		f.bisection.steps++
		w.bisect(f)
		return
	case o.Failure != nil:
		f.Newest.Failed = true
		w.mediaFailed(f, event.FailedSegment, o.Failure, o.Began)
		return
	}
	w.learned()
	w.state.Statistics.TotalSegmentsAnalyzed++
	w.state.LastCheckAt = w.now
	if !bisecting {
		f.Newest.Analysed = true
		f.mediaTried(true)
		w.contradictClaim()
		w.endOutage(f)
		f.bisection.began = w.now
	}
	f.bisection.add(newSample(segment, o))
	f.bisection.steps++
	w.bisect(f)
}

// bisect has the next segment of a bisection analysed. It applies the samples
// once there is no such segment, or after bisectionLimit.
func (w *Watcher) bisect(f *feed) {
	if w.now.Sub(f.bisection.began) < bisectionLimit {
		if next, ok := f.bisection.next(w.state.Conditions, detectorsOf(f.Tracks), f.window); ok {
			f.pending = &next
			return
		}
	}
	w.applySamples(f)
}

// applySamples takes the conditions that a feed judges through its samples and
// emits what follows.
func (w *Watcher) applySamples(f *feed) {
	for _, s := range f.bisection.samples {
		for _, d := range detectorsOf(f.Tracks) {
			for _, data := range w.state.Conditions.of(d).advance(w.rules.threshold(d), s, s.bad[d.Name]) {
				if _, isAlert := data.(event.Alert); isAlert {
					w.state.Statistics.Count(d.Name)
					w.emit(event.Type(d.Alert), data)
				} else {
					w.emit(event.Type(d.Recovered), data)
				}
			}
		}
	}
	f.bisection = bisection{}
}
