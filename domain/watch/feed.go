package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
)

// feed is one media playlist that is watched. A stream whose picture and sound
// come together has one feed; a stream whose picture and sound come apart has
// one for each, and every detector judges the feed of its track. The exported
// fields are in the snapshot; a successor finds out the others anew.
type feed struct {
	URL           string    `json:"url,omitempty"` // empty: not known
	Quality       quality   `json:"quality"`
	Tracks        tracks    `json:"tracks"`
	Newest        newest    `json:"newest"`
	Clock         mediaTime `json:"clock"`
	Outage        outage    `json:"outage"`
	Ended         bool      `json:"ended,omitempty"`          // the playlist has EXT-X-ENDLIST
	LastCheckedAt time.Time `json:"checked_at,omitzero"`      // when the last check began
	LastReadAt    time.Time `json:"read_at,omitzero"`         // when the last reading of the playlist began
	RenewalWorked bool      `json:"renewal_worked,omitempty"` // the last renewal made refused media readable again

	window                  []Segment // the playlist as last read, on the media timeline
	pending                 *Segment  // to be analysed next
	bisection               bisection
	failingSince            time.Time // from when on the playlist could not be read; zero: the last reading succeeded
	urlChanged              bool      // since the playlist was last read
	refused                 bool      // the URL was refused, and no segment has been analysed since
	refusedAfterGoodRenewal bool      // that refusal came after a renewal that had worked
	untried                 bool      // the URL was renewed after a refusal, and no media have been tried since
}

// tracks says which tracks a feed carries, and so which detectors judge it.
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

func (t tracks) and(u tracks) tracks    { return tracks{t.Video && u.Video, t.Audio && u.Audio} }
func (t tracks) overlaps(u tracks) bool { return t.and(u) != tracks{} }

// newest is the newest segment seen in a playlist (decision S5).
type newest struct {
	ID        string        `json:"id,omitempty"`
	SeenAt    time.Time     `json:"moved,omitzero"`     // when it was first seen, by the clock
	Unwatched time.Duration `json:"unwatched,omitzero"` // time since SeenAt in which nobody read the playlist
	Analysed  bool          `json:"analysed,omitempty"`
	Failed    bool          `json:"failed,omitempty"` // it could not be analysed; the outage says when to retry
}

// unchangedSince is from when on the playlist is known not to have moved,
// shifted by the time in which nobody read it.
func (n newest) unchangedSince() time.Time { return n.SeenAt.Add(n.Unwatched) }

// searchAt is when to ask for the URL again while it is not known; zero: it is.
func (f *feed) searchAt() time.Time {
	if f.URL != "" {
		return time.Time{}
	}
	return f.Outage.RetryAt
}

// hasURL reports whether the URL of any feed is known.
func (w *Watcher) hasURL() bool {
	for _, f := range w.state.Feeds {
		if f.URL != "" {
			return true
		}
	}
	return false
}

// playlistMoves reports whether any playlist had a new segment within
// stallLimit, whatever becomes of its segments.
func (w *Watcher) playlistMoves() bool {
	for _, f := range w.state.Feeds {
		if w.now.Sub(f.Newest.SeenAt) < stallLimit {
			return true
		}
	}
	return false
}

// mediaEnd is the end of the newest media seen; zero: none were.
func (w *Watcher) mediaEnd() (last time.Time) {
	for _, f := range w.state.Feeds {
		if f.Clock.Set && f.Clock.End.After(last) {
			last = f.Clock.End
		}
	}
	return last
}

// replaceFeeds makes feeds of the choices. Each goes on with what a feed of from
// with a common track knew of the stream, and with the longest of their outages.
func (w *Watcher) replaceFeeds(from []*feed, choices []choice) []*feed {
	var next []*feed
	for _, c := range choices {
		f := &feed{Newest: newest{SeenAt: w.now}}
		for _, old := range from {
			if old.Tracks.overlaps(c.tracks) {
				*f = *old
				break
			}
		}
		for _, old := range from {
			if old.Tracks.overlaps(c.tracks) && old.Outage.open() && (!f.Outage.open() || old.Outage.Since.Before(f.Outage.Since)) {
				f.Outage = old.Outage
			}
		}
		if f.pending != nil {
			f.pending, f.LastCheckedAt = nil, time.Time{} // what is being analysed for the old feed is lost
		}
		f.URL, f.Quality, f.Tracks, f.Ended = c.rendition.URL, c.rendition.quality(), c.tracks, false
		next = append(next, f)
	}
	return next
}

// dropFeeds forgets all media: the stream has not started.
func (w *Watcher) dropFeeds() { w.state.Feeds, w.state.Manifest = nil, manifest{} }
