package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// judgement holds the rules by which the watcher judges a detector's intervals. Its
// other properties are in its row of detector.Table.
type judgement struct {
	minimum         time.Duration // health ignores a condition that has lasted for less time
	badWithoutTrack bool          // a segment is bad throughout if no frame of the track could be decoded (decision S4)
}

// judgements has those that differ from the zero value. The filter blackdetect reports nothing
// shorter than 0.1 s. The analyser reports any silence, because two short ones on both sides of
// a segment boundary may be one long silence.
var judgements = map[detector.Name]judgement{
	detector.Blackout: {minimum: 100 * time.Millisecond, badWithoutTrack: true}, // section 6.3
	detector.Silence:  {minimum: 500 * time.Millisecond, badWithoutTrack: true}, // section 6.4
}

// decodedTrack returns what was decoded of a detector's track.
func (a Analysis) decodedTrack(t detector.Track) Track {
	if t == detector.Audio {
		return a.Audio
	}
	return a.Video
}

// detectorsOf returns the detectors of these tracks, in the order of the table.
func detectorsOf(t trackSet) (list []detector.Detector) {
	for _, d := range detector.Table {
		if t.has(d.Track) {
			list = append(list, d)
		}
	}
	return list
}

// health returns the health of picture, sound and stream (decision S14).
func (w *Watcher) health(now time.Time) HealthChanged {
	s := &w.state
	h := HealthChanged{
		Stream: s.Stream,
		Health: monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown, LastCheckAt: s.LastCheckAt},
	}
	if s.Blind.unseen(now, w.unseenLimit()) {
		h.Stream = monitor.StreamUnknown
		return h
	}
	if s.monitoring() && !s.Feeds.trackInOutage(detector.Video, now) {
		h.Health.Video = s.Conditions.trackHealth(detector.Video)
	}
	if s.monitoring() && !s.Feeds.trackInOutage(detector.Audio, now) {
		h.Health.Audio = s.Conditions.trackHealth(detector.Audio)
	}
	return h
}

// trackHealth returns the health word of the first detector of the track, in the
// order of the table, whose condition is bad. It is unknown after a blindness until media are
// judged.
func (c conditions) trackHealth(track detector.Track) monitor.TrackHealth {
	health := monitor.Unknown
	for _, d := range detector.Table {
		if d.Track != track {
			continue
		}
		switch judged := c.of(d); {
		case judged.Unjudged > 0:
			return monitor.Unknown // it was bad before a blindness, and no media were judged since
		case judged.Open && judged.BadUntil.Sub(judged.Onset) >= judgements[d.Name].minimum:
			return monitor.TrackHealth(d.Health)
		case judged.Seen:
			health = monitor.OK
		}
	}
	return health
}

// decoded reports whether any frame of the track was decoded.
func (t Track) decoded() bool { return t.Present && t.To > t.From }
