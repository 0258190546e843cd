package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// newest is the newest segment seen (decision S5).
type newest struct {
	ID       string    `json:"id,omitempty"`
	Moved    time.Time `json:"moved,omitzero"` // when it was first seen, by the clock
	Analysed bool      `json:"analysed,omitempty"`
}

// moving tells whether the playlist moves: there is a stream, whatever becomes
// of its segments.
func (w *Watcher) moving() bool {
	return w.now.Sub(w.life.Newest.Moved) < stallLimit
}

// stillSince is from when on the playlist is known to have stood still; the
// time in which nobody watched does not count.
func (w *Watcher) stillSince() time.Time {
	if w.life.Newest.Moved.Before(w.began) {
		return w.began
	}
	return w.life.Newest.Moved
}

// read takes in a reading of the playlist (sections 6.1, 7.6).
func (w *Watcher) read(o Playlist) {
	if m := w.life.Manifest; m.URL == "" || o.URL != m.URL {
		return
	}
	switch {
	case o.Failure != nil:
		w.unreadable(o)
	case o.Ended:
		w.ended(o)
	case len(o.Renditions) > 0:
		if r, ok := choose(o.Renditions, w.rules.Prefer); ok {
			w.life.Manifest.URL = r.URL
		} else {
			o.Failure = apart()
			w.unreadable(o)
		}
	case len(o.Segments) == 0:
		o.Failure = Failed(FailureMalformed, "the playlist lists no segment")
		w.unreadable(o)
	default:
		if !w.life.Manifest.Proven {
			w.life.Manifest.Proven = true
			w.start(time.Time{})
		}
		w.look(o, place(o.plausible(), o.Began))
	}
}

// unreadable is a playlist that could not be read. One that was never proven
// to be live is dropped: the stream is still being waited for.
func (w *Watcher) unreadable(o Playlist) {
	w.life.ReadAt = o.Began
	if !w.monitoring() {
		w.life.Manifest = manifest{}
	}
	w.mediaFailed(event.FailedManifest, o.Failure, o.Began)
}

// ended is EXT-X-ENDLIST, the first of the signs of the end (section 7.6).
func (w *Watcher) ended(o Playlist) {
	if len(o.Segments) > 0 {
		placed := place(o.Segments, o.Began)
		w.life.Clock.see(placed[len(placed)-1], o.Began)
	}
	w.end(event.EndedByEndlist)
}

// look takes in the segments of a live playlist, decides whether they have
// moved on, and whether the newest is to be analysed now.
func (w *Watcher) look(o Playlist, segments []Segment) {
	last := segments[len(segments)-1]
	due := !o.Began.Before(w.checkAt())
	w.life.ReadAt = o.Began
	switch w.compare(o, last) {
	case newer:
		w.moved(o, last)
		w.switched, w.window = false, segments
	case same:
		w.life.Newest.ID = last.ID() // it may be under a renewed URL
		w.unmoved()
		w.switched, w.window = false, segments
	case older:
		w.unmoved()
	}
	if due {
		w.life.CheckedAt = o.Began
	}
	if n := len(w.window); n > 0 && !w.life.Newest.Analysed && w.window[n-1].ID() == w.life.Newest.ID && (due || w.life.Outage.open()) {
		w.wanted, w.trace = &w.window[n-1], trace{}
	}
}

// reading is how a reading of the playlist compares with the one before.
type reading int

const (
	newer reading = iota // it has a segment that was not seen before
	same
	older // a copy that lags behind, as two servers may give in turn
)

// compare tells a new segment from one seen before (decision S5). Under the URL of a
// renewed manifest the same media have other URIs: there, program time tells.
// Where none is stated, nothing does until the playlist moves again.
func (w *Watcher) compare(o Playlist, last Segment) reading {
	if last.ID() == w.life.Newest.ID {
		return same
	}
	for _, s := range w.window {
		if s.ID() == last.ID() {
			return older
		}
	}
	if !w.switched || !w.life.Clock.Set {
		return newer
	}
	ahead := last.end().Sub(w.life.Clock.End)
	switch stated := !o.Segments[len(o.Segments)-1].ProgramTime.IsZero(); {
	case !stated, ahead == 0, ahead <= -copyAge:
		return same
	case ahead < 0:
		return older
	}
	return newer
}

// moved is a playlist with a new segment.
func (w *Watcher) moved(o Playlist, last Segment) {
	w.learned()
	w.life.Newest = newest{ID: last.ID(), Moved: w.now}
	if shift := w.life.Clock.see(last, o.Began); shift != 0 {
		for i := range w.life.Conditions {
			w.life.Conditions[i].shift(shift)
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
func (w *Watcher) unmoved() {
	still := w.stillSince()
	switch {
	case w.now.Sub(still) >= stallLimit, w.life.Outage.Failure == event.FailedStalled:
		w.life.Outage.fail(w.now, still, event.FailedStalled, "the playlist has not moved")
		w.life.Blind.LastErr = w.life.Outage.LastError
	case w.life.Newest.Analysed:
		w.mediaBack()
	}
}
