package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// analysed takes in what a decoder saw of a segment.
func (w *Watcher) analysed(o Analysis) {
	if w.wanted == nil || o.Segment != w.wanted.ID() {
		return
	}
	segment, tracing := *w.wanted, len(w.trace.Samples) > 0
	w.wanted = nil
	if o.Failure == nil && !o.Video.decoded() && !o.Audio.decoded() {
		o.Failure = Failed(FailureUndecodable, "neither picture nor sound could be decoded") // S4
	}
	if o.Failure != nil {
		if tracing {
			w.pass()
		} else {
			w.mediaFailed(event.FailedSegment, o.Failure, o.Began)
		}
		return
	}
	w.learned()
	w.life.Statistics.TotalSegmentsAnalyzed++
	w.life.LastCheck = w.now
	if !tracing {
		w.life.Newest.Analysed = true
		w.mediaBack()
	}
	w.trace.add(judge(segment, o))
	w.trace.Steps++
	if next, ok := w.trace.next(w.life.Conditions, w.window); ok {
		w.wanted = &next
		return
	}
	w.pass()
}

// pass takes the conditions through what was traced and tells what came of it.
func (w *Watcher) pass() {
	thresholds := w.thresholds()
	for _, s := range w.trace.Samples {
		for i, d := range detectors {
			for _, told := range w.life.Conditions[i].pass(thresholds[i], s, s.bad[i]) {
				if _, ok := told.(event.Alert); ok {
					d.count(&w.life.Statistics)
					w.emit(d.alert, told)
				} else {
					w.emit(d.recovered, told)
				}
			}
		}
	}
	w.trace = trace{}
}

func (w *Watcher) thresholds() (t [len(detectors)]time.Duration) {
	for i, d := range detectors {
		t[i] = d.threshold(w.rules)
	}
	return t
}

func (t Track) decoded() bool { return t.Present && t.To > t.From }
