package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// Calm says how closely the analysis of a segment has to look at each track (decision S18). It is the longest time of
// the track that may stay undecoded between good media. With 0, every frame is decoded.
type Calm struct {
	Video time.Duration
	Audio time.Duration
}

// calm returns how closely to look at a segment of a feed. It is every frame of a track while a
// condition of it is bad or unknown, in an outage and after a change. Otherwise bad media may
// hide at the end of one segment and at the beginning of the next that is looked at, one
// interval later. Together they must not reach a threshold.
func (p planner) calm(f *mediaFeed, s Segment) Calm {
	if f.changed || f.Outage.open() {
		return Calm{}
	}
	calm := Calm{s.Duration, s.Duration} // of tracks that are not judged
	for _, d := range detectorsOf(f.Tracks) {
		limit := &calm.Video
		if d.Track == detector.Audio {
			limit = &calm.Audio
		}
		*limit = max(0, min(*limit, (p.rules.threshold(d)-max(p.rules.CheckInterval, s.Duration))/2))
		if c := p.state.Conditions.of(d); c.Open || !c.Seen {
			*limit = 0
		}
	}
	return calm
}

// closely returns the same, but with every frame of these tracks.
func (c Calm) closely(tracks trackSet) Calm {
	if tracks.Video {
		c.Video = 0
	}
	if tracks.Audio {
		c.Audio = 0
	}
	return c
}
