package watch

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// analysed takes in what a decoder saw of a segment.
func (w *Watcher) analysed(o Analysis) {
	at := slices.IndexFunc(w.life.Feeds, func(f *feed) bool { return f.wanted != nil && f.wanted.ID() == o.Segment })
	if at < 0 {
		return
	}
	f := w.life.Feeds[at]
	segment, tracing := *f.wanted, len(f.trace.Samples) > 0
	f.wanted = nil
	if o.Failure == nil && !o.Video.decoded() && !o.Audio.decoded() {
		o.Failure = NewFailure(FailureUndecodable, "neither picture nor sound could be decoded") // S4
	}
	if o.Failure != nil {
		if tracing {
			f.window = slices.DeleteFunc(slices.Clone(f.window), func(s Segment) bool { return s.ID() == o.Segment })
			f.trace.Steps++
			w.traceOn(f)
		} else {
			f.Newest.Failed = true
			w.mediaFailed(f, event.FailedSegment, o.Failure, o.Began)
		}
		return
	}
	w.learned()
	w.life.Statistics.TotalSegmentsAnalyzed++
	w.life.LastCheck = w.now
	if !tracing {
		f.Newest.Analysed = true
		f.mediaTried(true)
		w.contradictClaim()
		w.mediaBack(f)
		f.trace.Began = w.now
	}
	f.trace.add(judge(segment, o))
	f.trace.Steps++
	w.traceOn(f)
}

// traceOn has the next segment of a trace analysed, or, when there is none or
// it takes too long, passes on what was found.
func (w *Watcher) traceOn(f *feed) {
	if w.now.Sub(f.trace.Began) < traceLimit {
		if next, ok := f.trace.next(w.life.Conditions, detectorsOf(f.Tracks), f.window); ok {
			f.wanted = &next
			return
		}
	}
	w.pass(f)
}

// pass takes the conditions that a feed judges through what was traced and
// tells what came of it.
func (w *Watcher) pass(f *feed) {
	for _, s := range f.trace.Samples {
		for _, d := range detectorsOf(f.Tracks) {
			for _, told := range w.life.Conditions.of(d).pass(w.rules.threshold(d), s, s.bad[d.Name]) {
				if _, ok := told.(event.Alert); ok {
					w.life.Statistics.Count(d.Name)
					w.emit(event.Type(d.Alert), told)
				} else {
					w.emit(event.Type(d.Recovered), told)
				}
			}
		}
	}
	f.trace = trace{}
}

func (t Track) decoded() bool { return t.Present && t.To > t.From }
