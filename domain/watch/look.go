package watch

import "time"

// Calm says how closely the analysis of a segment has to look at each track (decision S18). It
// is the longest time of the track that may stay undecoded if what is decoded around it is
// good. With 0, every frame is decoded.
type Calm struct {
	Video time.Duration
	Audio time.Duration
}

// calm returns how closely to look at a segment of a feed. It is every frame of a track while its
// condition is bad or unknown, in an outage and after a change.
func (p planner) calm(f *mediaFeed, s Segment) Calm {
	if f.changed || f.Outage.open() {
		return Calm{}
	}
	return Calm{Video: p.unseenLimit(f.Tracks.and(trackSet{Video: true}), s), Audio: p.unseenLimit(f.Tracks.and(trackSet{Audio: true}), s)}
}

// unseenLimit returns how long a part of a segment may stay undecoded; 0: none may. Bad media may
// hide at the end of one segment and at the beginning of the next that is looked at, one
// interval later. Together they must not reach a threshold.
func (p planner) unseenLimit(judged trackSet, s Segment) time.Duration {
	limit := s.Duration // of a track that is not judged
	for _, d := range detectorsOf(judged) {
		if c := p.state.Conditions.of(d); c.Open || !c.Seen {
			return 0
		}
		limit = min(limit, (p.rules.threshold(d)-max(p.rules.CheckInterval, s.Duration))/2)
	}
	return max(limit, 0)
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
