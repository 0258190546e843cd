package watch

import "time"

// feed is one media playlist that is watched. A stream whose picture and sound
// come together has one. A stream whose picture and sound are apart has two,
// and each condition is judged from the track that can show it.
//
//	together    [ picture and sound ] ──▶ black, silent
//	apart       [ picture           ] ──▶ black
//	            [ sound             ] ──▶ silent
//
// The exported fields are what a successor needs; the others it finds out anew.
type feed struct {
	URL           string    `json:"url,omitempty"` // empty: nobody knows where the media are
	Quality       quality   `json:"quality"`
	Tracks        tracks    `json:"tracks"`
	Newest        newest    `json:"newest"`
	Clock         clock     `json:"clock"`
	Outage        outage    `json:"outage"`
	Ended         bool      `json:"ended,omitempty"`          // its playlist says that nothing will follow
	CheckedAt     time.Time `json:"checked_at,omitzero"`      // when the last check began
	ReadAt        time.Time `json:"read_at,omitzero"`         // when the last reading of the playlist began
	RenewalWorked bool      `json:"renewal_worked,omitempty"` // the last renewal made refused media readable again

	window       []Segment // the playlist as last read, on the media timeline
	wanted       *Segment  // to be analysed next
	trace        trace
	failingSince time.Time // the playlist could not be read from then on; zero: it was read
	switched     bool      // the URL has changed since the playlist was last read
	refused      bool      // the URL was refused, and no segment has been analysed since
	newExpiry    bool      // that refusal came after a renewal that had worked
	untried      bool      // the URL was renewed after a refusal, and no media have been tried since
}

// moving tells whether the playlist moves: there is a stream, whatever becomes
// of its segments.
func (f *feed) moving(now time.Time) bool { return now.Sub(f.Newest.Moved) < stallLimit }

// searchAt is when to look for the media again, while it is not known where
// they are; zero when that is known.
func (f *feed) searchAt() time.Time {
	if f.URL != "" {
		return time.Time{}
	}
	return f.Outage.RetryAt
}

// located tells whether it is known where any media are.
func (w *Watcher) located() bool {
	for _, f := range w.life.Feeds {
		if f.URL != "" {
			return true
		}
	}
	return false
}

// moving tells whether any playlist moves.
func (w *Watcher) moving() bool {
	for _, f := range w.life.Feeds {
		if f.moving(w.now) {
			return true
		}
	}
	return false
}

// lastMedia is the end of the newest media seen; zero: none were.
func (w *Watcher) lastMedia() (last time.Time) {
	for _, f := range w.life.Feeds {
		if f.Clock.Set && f.Clock.End.After(last) {
			last = f.Clock.End
		}
	}
	return last
}

// arrange puts feeds of these choices in the place of from. What the feed that
// judged the same condition knew of the stream goes on in the new one.
func (w *Watcher) arrange(from []*feed, choices []choice) []*feed {
	var next []*feed
	for _, c := range choices {
		f := &feed{Newest: newest{Moved: w.now}}
		for _, old := range from {
			if !old.Tracks.and(c.tracks).none() {
				*f = *old
				break
			}
		}
		for _, old := range from {
			if !old.Tracks.and(c.tracks).none() && old.Outage.open() && (!f.Outage.open() || old.Outage.Since.Before(f.Outage.Since)) {
				f.Outage = old.Outage
			}
		}
		if f.wanted != nil {
			f.wanted, f.CheckedAt = nil, time.Time{} // what is being analysed for the old feed is lost
		}
		f.URL, f.Quality, f.Tracks, f.Ended = c.rendition.URL, c.rendition.quality(), c.tracks, false
		next = append(next, f)
	}
	return next
}
