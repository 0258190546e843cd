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

// judgements are those of the files detector_*.go, which register themselves.
var judgements = map[detector.Name]judgement{}

func register(name detector.Name, j judgement) judgement {
	judgements[name] = j
	return j
}

// intervals returns the bad parts of a segment by a detector.
func (a Analysis) intervals(d detector.Detector) []Interval {
	if found, ok := a.Intervals[d.Name]; ok {
		return found
	}
	switch d.Name {
	case detector.Blackout:
		return a.Video.Bad
	case detector.Silence:
		return a.Audio.Bad
	}
	return nil
}

// track returns what was decoded of a detector's track.
func (a Analysis) track(t detector.Track) Track {
	if t == detector.Audio {
		return a.Audio
	}
	return a.Video
}

// threshold is how long a detector's condition lasts before its alert.
func (r Rules) threshold(d detector.Detector) time.Duration {
	if t := r.Thresholds[d.Name]; t > 0 {
		return t
	}
	return time.Duration(d.Threshold.Default) * time.Second // the rules are older than the detector
}

// tracks says which tracks of the media a feed carries, and so which detectors
// judge it.
type tracks struct {
	Video bool `json:"video,omitempty"`
	Audio bool `json:"audio,omitempty"`
}

var bothTracks = tracks{Video: true, Audio: true}

func (t tracks) has(track detector.Track) bool {
	if track == detector.Audio {
		return t.Audio
	}
	return t.Video
}

func (t tracks) and(u tracks) tracks { return tracks{t.Video && u.Video, t.Audio && u.Audio} }
func (t tracks) none() bool          { return t == tracks{} }

// conditions are the conditions of all detectors, by name.
type conditions map[detector.Name]*condition

// of returns the condition of a detector. One that is not known yet begins now.
func (c conditions) of(d detector.Detector) *condition {
	if c[d.Name] == nil {
		c[d.Name] = &condition{}
	}
	return c[d.Name]
}

// detectorsOf yields the detectors that judge these tracks, in the order of the
// table.
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
		Stream: w.life.Stream,
		Health: monitor.Health{
			Video:       w.trackHealth(detector.Video),
			Audio:       w.trackHealth(detector.Audio),
			LastCheckAt: w.life.LastCheck,
		},
	}
	if w.life.Blind.Alerted {
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
		switch c := w.life.Conditions.of(d); {
		case c.Open && c.Known.Sub(c.Onset) >= judgements[d.Name].minimum:
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
	for _, f := range w.life.Feeds {
		if f.Tracks.has(track) && (f.Outage.due(w.now) || f.Outage.Alerted) {
			return false
		}
	}
	return true
}
