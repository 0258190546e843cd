package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Look says how closely the analysis of a segment has to look at each track (decision S18), and what it
// measures. Video and Audio are the longest time of the track that may stay undecoded between good media.
// With 0, every frame is decoded.
type Look struct {
	Video, Audio time.Duration
	Measure      detector.Measurement

	// KeyFrames says that key frames of the picture are enough, whatever they show, and that no sound has to
	// be decoded.
	KeyFrames bool

	Text bool // the segment has captions as text (WebVTT, TTML), and neither picture nor sound
}

// LookAtRendition returns how closely to look at a segment of a rendition that is not the watched one. text says that
// it has captions as text.
func LookAtRendition(s Segment, text bool) Look {
	return Look{Video: s.Duration, Audio: s.Duration, KeyFrames: true, Text: text}
}

// look returns how closely to look at a segment of a feed. It is every frame of a track while a
// condition of it is bad or unknown, in an outage and after a change. Otherwise bad media may
// hide at the end of one segment and at the beginning of the next that is looked at, one
// interval later. Together they must not reach a threshold.
func (p planner) look(f *mediaFeed, s Segment) Look {
	look := Look{Measure: p.rules.measurements(f.Tracks)}
	if f.changed || f.Outage.open() {
		return look
	}
	look.Video, look.Audio = s.Duration, s.Duration // of tracks that are not judged
	for d := range p.rules.running(f.Tracks) {
		limit, c := &look.Video, p.state.Conditions.of(d)
		if d.Track == detector.Audio {
			limit = &look.Audio
		}
		if d.Rule != nil {
			if c.looksClosely(p.rules.threshold(d), s) {
				*limit = 0
			}
			continue
		}
		*limit = max(0, min(*limit, (p.rules.threshold(d)-max(p.rules.CheckInterval, s.Duration))/2))
		if c.Open || !c.Seen {
			*limit = 0
		}
	}
	return look
}

// closely returns the same, but with every frame of these tracks.
func (l Look) closely(tracks trackSet) Look {
	if tracks.Video {
		l.Video = 0
	}
	if tracks.Audio {
		l.Audio = 0
	}
	return l
}
