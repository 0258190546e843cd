package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// mediaFeed is one media playlist that is watched, with all that is known of it. In
// this package, feed means mediaFeed. A stream has one feed if one playlist carries
// picture and sound, and one feed for each track otherwise. A snapshot holds the
// exported fields only.
type mediaFeed struct {
	URL           string         `json:"url,omitempty"`    // empty: not known
	Egress        string         `json:"egress,omitempty"` // the address to which URL is bound
	Header        *RequestHeader `json:"header,omitempty"` // that requests for URL and its segments carry
	Quality       quality        `json:"quality"`
	Tracks        trackSet       `json:"tracks"`
	HasCaptions   bool           `json:"has_captions,omitempty"` // as Rendition.HasCaptions
	Newest        newest         `json:"newest"`
	Clock         mediaTime      `json:"clock"`
	Outage        outage         `json:"outage"`
	Ended         bool           `json:"ended,omitempty"`          // the playlist has EXT-X-ENDLIST
	LastCheckedAt time.Time      `json:"last_checked_at,omitzero"` // when the last check began
	LastReadAt    time.Time      `json:"last_read_at,omitzero"`    // when the last reading of the playlist began
	Screened      *Segment       `json:"screened,omitempty"`       // the last segment judged, if not every frame was decoded (decision S18)
	AdsSince      time.Time      `json:"ads_since,omitzero"`       // where the advertisements began with which the newest reading ends; zero: it ends with the broadcaster's media
	Refusals      int            `json:"refusals,omitempty"`       // of this rendition in a row, with a question after each; URLs that live for shortLife end the row (decision S7)

	listing      listing
	pending      *Segment // to be analysed next; nil: none is
	look         Look     // at pending
	changed      bool     // the URL or the program time changed since the last check
	bisection    bisection
	failingSince time.Time // when the first of the failed readings began; zero: the last reading succeeded
}

// listing is the playlist of a feed as it was last read. Readings of older copies leave it as it is.
type listing struct {
	segments      []Segment // on the media timeline; none: the playlist has not been read
	ofFormerURL   bool      // the feed's URL has changed since
	olderReadings int       // in a row since then, of older copies
}

// last returns the newest segment that the listing has, if it has any.
func (l listing) last() (s Segment, ok bool) {
	if n := len(l.segments); n > 0 {
		return l.segments[n-1], true
	}
	return Segment{}, false
}

// after returns the listing after a reading of these segments, whose newest compares so.
func (l listing) after(c comparison, segments []Segment) listing {
	if c == older {
		l.olderReadings++
		return l
	}
	return listing{segments: segments}
}

// changeURL notes that the feed has another URL than before.
func (f *mediaFeed) changeURL() { f.listing.ofFormerURL, f.changed = true, true }

// failing reports whether the last reading of the playlist failed.
func (f *mediaFeed) failing() bool { return !f.failingSince.IsZero() }

// failReading notes that a reading failed that began at a time.
func (f *mediaFeed) failReading(began time.Time) {
	if !f.failing() {
		f.failingSince = began
	}
}

// readAtOnce makes the next reading of the playlist due.
func (f *mediaFeed) readAtOnce() { f.LastReadAt = time.Time{} }

// trackSet says which tracks a feed carries, and so which detectors judge it.
type trackSet struct {
	Video bool `json:"video,omitempty"`
	Audio bool `json:"audio,omitempty"`
}

var bothTracks = trackSet{Video: true, Audio: true}

func (t trackSet) has(track detector.Track) bool {
	if track == detector.Audio {
		return t.Audio
	}
	return t.Video
}

func (t trackSet) and(u trackSet) trackSet  { return trackSet{t.Video && u.Video, t.Audio && u.Audio} }
func (t trackSet) overlaps(u trackSet) bool { return t.and(u) != trackSet{} }

// newest is the newest segment seen in a playlist (decision S5).
type newest struct {
	identity
	Peak      identity      `json:"peak,omitzero"`      // the newest segment ever seen; a later one than this if older copies are watched
	SeenAt    time.Time     `json:"seen_at,omitzero"`   // when Peak was first seen, by the clock
	Since     time.Time     `json:"since,omitzero"`     // when it may have been published, at the earliest
	Unwatched time.Duration `json:"unwatched,omitzero"` // time since SeenAt in which nobody read the playlist
	Analysed  bool          `json:"analysed,omitempty"`
	Failed    bool          `json:"failed,omitempty"` // it could not be analysed; the outage says when to retry
}

// after returns the newest segment after a reading whose newest one compares so. That one may have
// been published at since, at the earliest.
func (n newest) after(c comparison, last Segment, now, since time.Time) newest {
	next := newest{identity: last.identity(), Peak: last.identity(), SeenAt: now, Since: since}
	switch c {
	case newer:
	case again:
		next.Peak, next.SeenAt, next.Unwatched = n.Peak, n.SeenAt, n.Unwatched
	case unknown: // it may be new or old, so the time until now does not count for a stall
		next = n
		next.identity, next.Unwatched = last.identity(), now.Sub(n.SeenAt)
	case same:
		next = n
		next.ID = last.ID() // the same segment may have another URI
	case older:
		next = n
	}
	return next
}

// unchangedSince returns the start of the time without a new segment. It is later
// than SeenAt by Unwatched, because time in which nobody reads proves nothing.
func (n newest) unchangedSince() time.Time { return n.SeenAt.Add(n.Unwatched) }

// searchAt returns when to ask for the feed's URL again; zero: the URL is known.
func (f *mediaFeed) searchAt() time.Time {
	if f.URL != "" {
		return time.Time{}
	}
	return f.Outage.RetryAt
}

// mediaFeeds are the feeds of one stream.
type mediaFeeds []*mediaFeed

// hasURL reports whether the URL of any feed is known.
func (all mediaFeeds) hasURL() bool {
	return slices.ContainsFunc(all, func(f *mediaFeed) bool { return f.URL != "" })
}

// movingUntil returns until when the playlists prove that the stream goes on (decision
// S17): standstillLimit after the newest segment of any of them. Until a reading shows
// that this time has passed, it may be late or fail for readingSlack.
func (all mediaFeeds) movingUntil() (last time.Time) {
	for _, f := range all {
		until := f.Newest.unchangedSince().Add(standstillLimit)
		if f.LastReadAt.Before(until) || f.failing() {
			until = until.Add(readingSlack)
		}
		last = instant.Latest(last, until)
	}
	return last
}

// mediaEnd returns the end of the newest media seen; zero: no media were seen.
func (all mediaFeeds) mediaEnd() (last time.Time) {
	for _, f := range all {
		last = instant.Latest(last, f.Clock.End)
	}
	return last
}

// replace returns new feeds for the choices. Each new feed keeps the knowledge of
// the first old feed that shares a track with it. Its outage is the longest of
// all such feeds.
func (all mediaFeeds) replace(choices []choice, now time.Time) mediaFeeds {
	var next mediaFeeds
	for _, c := range choices {
		f := &mediaFeed{Newest: newest{SeenAt: now}}
		for _, old := range all {
			if old.Tracks.overlaps(c.tracks) {
				*f = *old
				break
			}
		}
		if longest := all.longestOutage(func(old *mediaFeed) bool { return old.Tracks.overlaps(c.tracks) }); longest != nil {
			f.Outage = *longest
		}
		if f.pending != nil {
			f.pending, f.LastCheckedAt = nil, time.Time{} // the analysis for the old feed is lost
		}
		if f.Quality != c.rendition.quality() {
			f.Newest.Number, f.Newest.Peak.Number = 0, 0 // each rendition may have its own numbers
			f.Refusals = min(f.Refusals, 1)
		}
		f.URL, f.Quality, f.Tracks, f.Ended = c.rendition.URL, c.rendition.quality(), c.tracks, false
		f.HasCaptions = c.rendition.HasCaptions
		next = append(next, f)
	}
	return next
}
