package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// readPlaylist takes in the reading of a playlist (sections 6.1, 7.6).
func (w *Watcher) readPlaylist(o Playlist) {
	if o.URL == "" {
		return
	}
	if o.URL == w.state.Manifest.PendingURL {
		w.readManifest(o)
		return
	}
	for _, f := range slices.Clone(w.state.Feeds) {
		if f.URL == o.URL && !w.state.Over {
			w.readFeed(f, o)
		}
	}
}

// readFeed takes in the reading of a feed's playlist.
func (w *Watcher) readFeed(f *feed, o Playlist) {
	switch {
	case o.Failure != nil:
		w.playlistFailed(f, o)
	case o.Ended:
		w.playlistEnded(f, o)
	case len(o.Renditions) > 0:
		w.selectVariants(f, o)
	case len(o.Segments) == 0:
		o.Failure = NewFailure(FailureMalformed, "the playlist lists no segment")
		w.playlistFailed(f, o)
	default:
		f.Ended, f.failingSince = false, time.Time{}
		if !w.monitoring() { // segments prove what streamlink could not say (section 5.2)
			w.start(time.Time{})
		}
		w.readSegments(f, o, placeSegments(o.plausible(), o.Began))
	}
}

// playlistFailed takes in a playlist that could not be read. One that was never
// proven to be live is dropped, because the stream may not have started.
func (w *Watcher) playlistFailed(f *feed, o Playlist) {
	f.LastReadAt = o.Began
	if f.failingSince.IsZero() {
		f.failingSince = o.Began
	}
	w.mediaFailed(f, event.FailedManifest, o.Failure, o.Began)
	if !w.monitoring() {
		w.dropFeeds()
	}
}

// playlistEnded takes in EXT-X-ENDLIST (section 7.6). The stream has ended when
// all its playlists say so; the others are read at once. Until then a playlist
// that has ended counts as stalled.
func (w *Watcher) playlistEnded(f *feed, o Playlist) {
	if len(o.Segments) > 0 {
		placed := placeSegments(o.Segments, o.Began)
		f.Clock.observe(placed[len(placed)-1], o.Began)
	}
	f.Ended, f.LastReadAt, f.LastCheckedAt, f.failingSince = true, o.Began, o.Began, time.Time{}
	over := true
	for _, other := range w.state.Feeds {
		if !other.Ended {
			over = false
			other.LastReadAt = time.Time{}
		}
	}
	if over {
		w.end(event.EndedByEndlist)
		return
	}
	w.extendOutage(f, f.Newest.unchangedSince(), event.FailedStalled, "the playlist has ended, the stream has not")
}

// readSegments takes in the segments of a live playlist, and decides whether the
// playlist has moved and whether its newest segment is analysed now.
func (w *Watcher) readSegments(f *feed, o Playlist, segments []Segment) {
	last := segments[len(segments)-1]
	due := !o.Began.Before(w.checkAt(f))
	f.LastReadAt = o.Began
	switch f.compare(o, last) {
	case newer:
		w.playlistAdvanced(f, o, last)
		f.urlChanged, f.window = false, segments
	case same:
		if f.urlChanged && last.ID() != f.Newest.ID && !o.hasProgramTime() {
			f.Newest.Unwatched = w.now.Sub(f.Newest.SeenAt) // nothing tells whether it has moved meanwhile
		}
		f.Newest.ID = last.ID() // it may have a renewed URL
		w.playlistUnchanged(f)
		f.urlChanged, f.window = false, segments
	case older:
		if f.window == nil { // the first reading of a successor
			f.Newest.ID, f.window = last.ID(), segments
		}
		w.playlistUnchanged(f)
	}
	if due {
		f.LastCheckedAt = o.Began
	}
	if f.Newest.Failed {
		due = !o.Began.Before(f.Outage.RetryAt)
	}
	if n := len(f.window); n > 0 && !f.Newest.Analysed && f.window[n-1].ID() == f.Newest.ID && (due || f.Outage.open() && !f.Newest.Failed) {
		f.pending, f.bisection = &f.window[n-1], bisection{}
	}
}

// reading is how a reading of a playlist compares with the one before.
type reading int

const (
	newer reading = iota // it has a segment that was not seen before
	same
	older // it is of a server whose copy lags behind
)

// compare tells a new segment from one seen before (decision S5). Under a
// renewed URL the same media have other URIs, and only program time tells; where
// none is stated, nothing does until the playlist moves again. Program time also
// tells segments of a restarted encoder from earlier ones of the same names.
func (f *feed) compare(o Playlist, last Segment) reading {
	if last.ID() == f.Newest.ID {
		return same
	}
	stated := o.hasProgramTime()
	for _, s := range f.window {
		if s.ID() == last.ID() {
			if stated && last.ProgramTime.Sub(s.ProgramTime).Abs() > clockSlack {
				return newer
			}
			return older
		}
	}
	if !f.urlChanged || !f.Clock.Set {
		return newer
	}
	ahead := last.end().Sub(f.Clock.End)
	switch {
	case !stated, ahead == 0, ahead <= -copyLag:
		return same
	case ahead < 0:
		return older
	}
	return newer
}

// playlistAdvanced takes in a new segment.
func (w *Watcher) playlistAdvanced(f *feed, o Playlist, last Segment) {
	w.learned()
	f.Newest = newest{ID: last.ID(), SeenAt: w.now}
	f.Clock.ByFetch = !o.hasProgramTime()
	if shift := f.Clock.observe(last, o.Began); shift != 0 {
		for _, d := range detectorsOf(f.Tracks) {
			w.state.Conditions.of(d).shift(shift)
		}
		w.logWarn("The stream's program time was reset", map[string]any{"shift_sec": shift.Seconds()})
	}
	target, length := o.TargetDuration.Seconds(), o.Segments[len(o.Segments)-1].Duration.Seconds()
	if target > 0 && (length < minSegmentRatio*target || length > maxSegmentRatio*target) {
		w.state.OddSegments++
		w.logWarn("A segment has a strange length", map[string]any{
			"segment_sequence": last.Sequence, "duration_sec": length, "target_duration_sec": target, "count": w.state.OddSegments,
		})
	}
}

// playlistUnchanged takes in a playlist with nothing new (decisions S5, S6).
func (w *Watcher) playlistUnchanged(f *feed) {
	since := f.Newest.unchangedSince()
	switch {
	case w.now.Sub(since) >= stallLimit, f.Outage.Failure == event.FailedStalled:
		w.extendOutage(f, since, event.FailedStalled, "the playlist has not moved")
	case f.Newest.Analysed:
		w.endOutage(f)
	}
}
