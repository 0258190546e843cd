package watch

import (
	"iter"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// running returns the detectors that judge these tracks, in the order of the table.
func (r Rules) running(t trackSet) iter.Seq[detector.Detector] {
	return func(yield func(detector.Detector) bool) {
		for _, d := range detector.Table {
			if t.has(d.Track) && r.runs(d) && !yield(d) {
				return
			}
		}
	}
}

// measurements returns what the analyser measures for the detectors of these tracks. A tone is measured where the
// sound is, though it is judged beside the picture.
func (r Rules) measurements(t trackSet) (all detector.Measurement) {
	for d := range r.running(bothTracks) {
		if t.has(d.Track) {
			all |= d.Needs
		} else if t.Audio {
			all |= d.Needs & detector.Tone
		}
	}
	return all &^ detector.Renditions
}

// health returns the health of picture, sound and stream (decision S14).
func (w *Watcher) health(now time.Time) HealthChanged {
	s := &w.state
	h := HealthChanged{
		Stream: s.Stream,
		Health: monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown, LastCheckAt: s.LastCheckAt},
	}
	if w.rules.AudioOnly {
		h.Health.Video = monitor.NoTrack
	}
	if s.Blind.unseen(now, w.unseenLimit()) {
		h.Stream = monitor.StreamUnknown
		h.Health.Conditions, h.Health.Renditions = w.detectorStates(trackSet{}), s.Others.states(false)
		return h
	}
	judged := trackSet{
		Video: s.monitoring() && !w.rules.AudioOnly && !s.Feeds.trackInOutage(detector.Video, now),
		Audio: s.monitoring() && !s.Feeds.trackInOutage(detector.Audio, now),
	}
	if judged.Video {
		h.Health.Video = w.trackHealth(detector.Video)
	}
	if judged.Audio {
		h.Health.Audio = w.trackHealth(detector.Audio)
	}
	h.Health.Conditions, h.Health.Renditions = w.detectorStates(judged), s.Others.states(judged.Video)
	return h
}

// detectorStates returns the state of each optional detector that runs, and of each other one whose
// condition lasts; none if no optional one runs. Those of other tracks than the judged ones are
// unknown.
func (w *Watcher) detectorStates(judged trackSet) (states []monitor.DetectorState) {
	optional := false
	for d := range w.rules.running(w.rules.expected()) {
		optional = optional || d.Optional
		c := w.state.Conditions.of(d)
		if !d.Optional && !c.bad(d) {
			continue
		}
		state := monitor.DetectorState{Detector: d.Name, State: monitor.Unknown, Alerted: c.Alerted, Values: c.Values}
		if c.bad(d) {
			state.Since = c.Onset
		}
		switch {
		case !judged.has(d.Track), c.Unjudged > 0, !c.Seen:
		case c.bad(d):
			state.State = monitor.TrackHealth(d.Health)
		case !c.Unknown:
			state.State = monitor.OK
		}
		states = append(states, state)
	}
	if !optional {
		return nil
	}
	return states
}

// trackHealth returns the health word of the first detector of the track, in the
// order of the table, whose condition is bad. It is unknown after a blindness until media are
// judged.
func (w *Watcher) trackHealth(track detector.Track) monitor.TrackHealth {
	health := monitor.Unknown
	for d := range w.rules.running(trackSet{Video: track == detector.Video, Audio: track == detector.Audio}) {
		switch judged := w.state.Conditions.of(d); {
		case judged.Unjudged > 0:
			return monitor.Unknown // it was bad before a blindness, and no media were judged since
		case judged.bad(d):
			return monitor.TrackHealth(d.Health)
		case judged.Seen && d.Rule == nil: // the others may have seen nothing that they can judge
			health = monitor.OK
		}
	}
	return health
}
