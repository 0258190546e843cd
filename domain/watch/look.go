package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Look says how closely the analysis of a segment looks at the picture (decision S18).
// The sound is always decoded whole.
type Look string

// The looks.
const (
	EveryFrame Look = ""           // every frame is decoded; the intervals are exact
	KeyFrames  Look = "key_frames" // only key frames are decoded; the intervals of the picture are a suspicion
)

// Screen describes the key frames of a segment. The watcher decides by it whether every
// frame is worth decoding. If the look saw a bad key frame, the intervals
// of the analysis are not empty. Their times say nothing, as most frames were not seen.
type Screen struct {
	KeyFrames int           `json:"key_frames"`        // how many were decoded
	Gap       time.Duration `json:"gap,omitzero"`      // longest time between two of them
	Damaged   bool          `json:"damaged,omitempty"` // the container or a decoder reported damage
}

// chooseLook returns how closely to look at the newest segment of a feed (decision S18).
// It is every frame while the picture is bad, unknown or cannot be screened. It is every
// frame in an outage and after a change, too.
func (p planner) chooseLook(f *mediaFeed) Look {
	if !f.Tracks.Video {
		return KeyFrames // the picture is not judged
	}
	if f.changed || f.Outage.open() || p.now.Before(f.unscreenableUntil) {
		return EveryFrame
	}
	for _, d := range pictureDetectors() {
		if c := p.state.Conditions.of(d); c.Open || !c.Seen {
			return EveryFrame
		}
	}
	return KeyFrames
}

// suspicious reports whether every frame of a screened segment has to be decoded. If the
// screen could not judge it, the next ones are not screened for a while.
func (w *Watcher) suspicious(f *mediaFeed, s Segment, o Analysis) bool {
	switch {
	case o.Screen == nil || !f.Tracks.Video:
		return false
	case o.Failure != nil && o.Failure.Kind != FailureUndecodable:
		return false
	case o.Failure != nil || !w.rules.canScreen(s, o):
		f.unscreenableUntil = w.now.Add(screenPause)
		return true
	}
	for _, d := range pictureDetectors() {
		if len(o.Intervals[d.Name]) > 0 {
			return true
		}
	}
	return false
}

// canScreen reports whether a screen shows all that could matter. A bad time that
// reaches a threshold has to cover a key frame. The one exception is bad media at the end
// of one segment and the beginning of the next that is looked at, one interval later.
func (r Rules) canScreen(s Segment, o Analysis) bool {
	if !o.Video.decoded() || o.Screen.Damaged {
		return false
	}
	unseen := max(o.Video.From, o.Screen.Gap, s.Duration-o.Video.To)
	for _, d := range pictureDetectors() {
		if 2*unseen+max(r.CheckInterval, s.Duration) > r.threshold(d) {
			return false
		}
	}
	return true
}

// pictureDetectors returns the detectors that a screen cannot replace.
func pictureDetectors() []detector.Detector { return detectorsOf(trackSet{Video: true}) }
