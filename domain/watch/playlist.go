package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// newest is the newest segment seen (decision S5).
type newest struct {
	ID        string        `json:"id,omitempty"`
	Moved     time.Time     `json:"moved,omitzero"`     // when it was first seen, by the clock
	Unwatched time.Duration `json:"unwatched,omitzero"` // since Moved: nobody looked whether the playlist moves
	Analysed  bool          `json:"analysed,omitempty"`
	Failed    bool          `json:"failed,omitempty"` // it could not be analysed; the outage says when to try again
}

// stillSince is from when on the playlist is known to have stood still, were it
// not for the time in which nobody watched.
func (n newest) stillSince() time.Time { return n.Moved.Add(n.Unwatched) }

// read takes in a reading of a playlist (sections 6.1, 7.6).
func (w *Watcher) read(o Playlist) {
	if o.URL == "" {
		return
	}
	if o.URL == w.life.Manifest.List {
		w.listed(o)
		return
	}
	for _, f := range slices.Clone(w.life.Feeds) {
		if f.URL == o.URL && !w.life.Over {
			w.readFor(f, o)
		}
	}
}

// readFor takes in a reading of a feed's playlist.
func (w *Watcher) readFor(f *feed, o Playlist) {
	switch {
	case o.Failure != nil:
		w.unreadable(f, o)
	case o.Ended:
		w.ended(f, o)
	case len(o.Renditions) > 0:
		w.descend(f, o)
	case len(o.Segments) == 0:
		o.Failure = NewFailure(FailureMalformed, "the playlist lists no segment")
		w.unreadable(f, o)
	default:
		f.Ended, f.failingSince = false, time.Time{}
		if !w.monitoring() { // a playlist with segments is the proof that nobody else gave
			w.start(time.Time{})
		}
		w.look(f, o, place(o.plausible(), o.Began))
	}
}

// unreadable is a playlist that could not be read. One that was never proven
// to be live is dropped: the stream is still being waited for.
func (w *Watcher) unreadable(f *feed, o Playlist) {
	f.ReadAt = o.Began
	if f.failingSince.IsZero() {
		f.failingSince = o.Began
	}
	w.mediaFailed(f, event.FailedManifest, o.Failure, o.Began)
	if !w.monitoring() {
		w.forget()
	}
}

// ended is EXT-X-ENDLIST, the first of the signs of the end (section 7.6). The
// stream is over when all its playlists say so; they are read at once then. One
// that says so alone has come to a standstill.
func (w *Watcher) ended(f *feed, o Playlist) {
	if len(o.Segments) > 0 {
		placed := place(o.Segments, o.Began)
		f.Clock.see(placed[len(placed)-1], o.Began)
	}
	f.Ended, f.ReadAt, f.CheckedAt, f.failingSince = true, o.Began, o.Began, time.Time{}
	over := true
	for _, other := range w.life.Feeds {
		if !other.Ended {
			over = false
			other.ReadAt = time.Time{}
		}
	}
	if over {
		w.end(event.EndedByEndlist)
		return
	}
	w.out(f, f.Newest.stillSince(), event.FailedStalled, "the playlist has ended, the stream has not")
}

// look takes in the segments of a live playlist, decides whether they have
// moved on, and whether the newest is to be analysed now.
func (w *Watcher) look(f *feed, o Playlist, segments []Segment) {
	last := segments[len(segments)-1]
	due := !o.Began.Before(w.checkAt(f))
	f.ReadAt = o.Began
	switch f.compare(o, last) {
	case newer:
		w.moved(f, o, last)
		f.switched, f.window = false, segments
	case same:
		if f.switched && last.ID() != f.Newest.ID && !o.stated() {
			f.Newest.Unwatched = w.now.Sub(f.Newest.Moved) // nothing tells whether it has moved meanwhile
		}
		f.Newest.ID = last.ID() // it may be under a renewed URL
		w.unmoved(f)
		f.switched, f.window = false, segments
	case older:
		if f.window == nil { // of a successor's first look; it will do until there is a better one
			f.Newest.ID, f.window = last.ID(), segments
		}
		w.unmoved(f)
	}
	if due {
		f.CheckedAt = o.Began
	}
	if f.Newest.Failed {
		due = !o.Began.Before(f.Outage.RetryAt)
	}
	if n := len(f.window); n > 0 && !f.Newest.Analysed && f.window[n-1].ID() == f.Newest.ID && (due || f.Outage.open() && !f.Newest.Failed) {
		f.wanted, f.trace = &f.window[n-1], trace{}
	}
}

// reading is how a reading of the playlist compares with the one before.
type reading int

const (
	newer reading = iota // it has a segment that was not seen before
	same
	older // a copy that lags behind, as two servers may give in turn
)

// compare tells a new segment from one seen before (decision S5). Under the URL
// of a renewed manifest the same media have other URIs: there, program time
// tells. Where none is stated, nothing does until the playlist moves again.
// Program time also tells the segments of an encoder that has started again
// from those of the same names before.
func (f *feed) compare(o Playlist, last Segment) reading {
	if last.ID() == f.Newest.ID {
		return same
	}
	stated := o.stated()
	for _, s := range f.window {
		if s.ID() == last.ID() {
			if stated && last.ProgramTime.Sub(s.ProgramTime).Abs() > clockSlack {
				return newer
			}
			return older
		}
	}
	if !f.switched || !f.Clock.Set {
		return newer
	}
	ahead := last.end().Sub(f.Clock.End)
	switch {
	case !stated, ahead == 0, ahead <= -copyAge:
		return same
	case ahead < 0:
		return older
	}
	return newer
}

// moved is a playlist with a new segment.
func (w *Watcher) moved(f *feed, o Playlist, last Segment) {
	w.learned()
	f.Newest = newest{ID: last.ID(), Moved: w.now}
	f.Clock.Own = !o.stated()
	if shift := f.Clock.see(last, o.Began); shift != 0 {
		for _, d := range detectorsOf(f.Tracks) {
			w.life.Conditions.of(d).shift(shift)
		}
		w.note(true, "The stream's program time was reset", map[string]any{"shift_sec": shift.Seconds()})
	}
	if target := o.TargetDuration.Seconds(); target > 0 {
		if length := o.Segments[len(o.Segments)-1].Duration.Seconds(); length < shortestSegment*target || length > longestSegment*target {
			w.life.Odd++
			w.note(true, "A segment has a strange length", map[string]any{
				"segment_sequence": last.Sequence, "duration_sec": length, "target_duration_sec": target, "count": w.life.Odd,
			})
		}
	}
}

// unmoved is a playlist with nothing new (decisions S5, S6).
func (w *Watcher) unmoved(f *feed) {
	still := f.Newest.stillSince()
	switch {
	case w.now.Sub(still) >= stallLimit, f.Outage.Failure == event.FailedStalled:
		w.out(f, still, event.FailedStalled, "the playlist has not moved")
	case f.Newest.Analysed:
		w.mediaBack(f)
	}
}
