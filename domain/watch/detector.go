package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// judgement says how a detector reads a decoded segment. Everything else about
// a detector is in its row of detector.Table. A row without a judgement has the
// zero value.
type judgement struct {
	minimum      time.Duration // health does not show a condition that has lasted for less
	withoutTrack bool          // a segment without the track, or with no frame of it decoded, is bad throughout (decision S4)
}

// judgements has an entry for each file detector_*.go, which registers it.
var judgements = map[detector.Name]judgement{}

// register adds a judgement. A variable declaration in the detector's file calls
// it, so that another detector touches no other file here.
func register(name detector.Name, j judgement) judgement { //nolint:unparam // a declaration needs a value
	judgements[name] = j
	return j
}

// track returns what was decoded of a detector's track.
func (a Analysis) track(t detector.Track) Track {
	if t == detector.Audio {
		return a.Audio
	}
	return a.Video
}

// detectorsOf returns the detectors of these tracks, in the order of the table.
func detectorsOf(t tracks) (list []detector.Detector) {
	for _, d := range detector.Table {
		if t.has(d.Track) {
			list = append(list, d)
		}
	}
	return list
}

// health returns what is known of picture, sound and stream (decision S14). A
// track has the condition of its first bad detector. While nothing can be seen
// of it, it is unknown, whatever was seen last.
func (w *Watcher) health() HealthChanged {
	h := HealthChanged{
		Stream: w.state.Stream,
		Health: monitor.Health{
			Video:       w.trackHealth(detector.Video),
			Audio:       w.trackHealth(detector.Audio),
			LastCheckAt: w.state.LastCheckAt,
		},
	}
	if w.state.Blind.Alerted {
		h.Stream = monitor.StreamUnknown
	}
	return h
}

func (w *Watcher) trackHealth(track detector.Track) monitor.Condition {
	if !w.monitoring() || !w.visible(track) {
		return monitor.Unknown
	}
	health := monitor.Unknown
	for _, d := range detector.Table {
		if d.Track != track {
			continue
		}
		switch c := w.state.Conditions.of(d); {
		case c.Open && c.BadUntil.Sub(c.Onset) >= judgements[d.Name].minimum:
			return monitor.Condition(d.Health)
		case c.Seen:
			health = monitor.OK
		}
	}
	return health
}

// visible reports whether no feed of the track is in an outage that is long
// enough to be alerted.
func (w *Watcher) visible(track detector.Track) bool {
	for _, f := range w.state.Feeds {
		if f.Tracks.has(track) && (f.Outage.due(w.now) || f.Outage.Alerted) {
			return false
		}
	}
	return true
}

// decoded reports whether any frame of the track was decoded.
func (t Track) decoded() bool { return t.Present && t.To > t.From }
