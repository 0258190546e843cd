package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// manifest is the playlist being read. It may turn out to be a master, from
// which a rendition is then chosen.
type manifest struct {
	URL    string    `json:"url,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Proven bool      `json:"proven,omitempty"` // the stream was said to be live when it was found
}

// newest is the newest segment seen (decision S5).
type newest struct {
	URI      string    `json:"uri,omitempty"`
	Moved    time.Time `json:"moved,omitzero"` // when it was first seen, by the clock
	Analysed bool      `json:"analysed,omitempty"`
}

// nextMedia is the task of the media lane.
func (w *Watcher) nextMedia() (Task, bool) {
	switch {
	case w.wanted != nil:
		return Task{Kind: TaskSegment, At: w.now, Segment: *w.wanted}, true
	case w.life.Manifest.URL != "":
		return Task{Kind: TaskPlaylist, At: w.readAt(), URL: w.life.Manifest.URL}, true
	}
	return Task{}, false
}

// adopt takes the manifest that a resolution found, if there is need of one:
// none yet, an outage, or one so old that it will expire (decision S7).
func (w *Watcher) adopt(o Resolution) {
	m := w.life.Manifest
	if m.URL != "" && !w.life.Outage.open() && w.now.Before(m.Since.Add(renewAfter)) {
		return
	}
	if !o.located() {
		if m.URL == "" {
			w.mediaFailed(event.FailedManifest, Failed(FailureNetwork, "%s", o.nowhere()), w.now)
		}
		return
	}
	url := o.Manifest
	if len(o.Renditions) > 0 {
		r, ok := choose(o.Renditions, w.rules.Prefer)
		if !ok {
			w.mediaFailed(event.FailedManifest, apart(), w.now)
			return
		}
		url = r.URL
	}
	w.life.Manifest = manifest{URL: url, Since: w.now, Proven: w.monitoring()}
	if url != m.URL {
		w.pass()
		w.switched, w.wanted = true, nil
		if w.life.Outage.Failures <= 1 || !w.now.Before(m.Since.Add(renewPause)) {
			w.life.Outage.RetryAt = w.now
			w.life.ReadAt = time.Time{}
		}
	}
}

// apart is the failure to choose a rendition.
func apart() *Failure {
	return Failed(FailureMalformed, "no rendition carries both picture and sound")
}

// moving tells whether the playlist moves: there is a stream, whatever becomes
// of its segments.
func (w *Watcher) moving() bool {
	return !w.life.Newest.Moved.IsZero() && w.now.Sub(w.life.Newest.Moved) < stallLimit
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
			w.life.ReadAt = time.Time{}
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
			w.life.Asking.Next = earliest(w.life.Asking.Next, w.now.Add(liveCheck))
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
		w.life.Newest.URI = last.URI // it may be under a renewed URL
		w.unmoved()
		w.switched, w.window = false, segments
	case older:
		w.unmoved()
	}
	if due {
		w.life.CheckedAt = o.Began
	}
	if n := len(w.window); n > 0 && !w.life.Newest.Analysed && w.window[n-1].URI == w.life.Newest.URI && (due || w.life.Outage.open()) {
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
	if last.URI == w.life.Newest.URI {
		return same
	}
	for _, s := range w.window {
		if s.URI == last.URI {
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
	if w.life.Outage.Failure == event.FailedStalled {
		w.mediaBack()
	}
	w.life.Newest = newest{URI: last.URI, Moved: w.now}
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
	still := w.now.Sub(w.life.Newest.Moved)
	switch {
	case still >= stallLimit:
		w.life.Outage.fail(w.now, w.life.Newest.Moved, event.FailedStalled, "the playlist has not moved")
		w.life.Blind.LastErr = w.life.Outage.LastError
	case w.life.Newest.Analysed:
		w.mediaBack()
	}
}

// analysed takes in what a decoder saw of a segment.
func (w *Watcher) analysed(o Analysis) {
	if w.wanted == nil || o.URI != w.wanted.URI {
		return
	}
	segment, tracing := *w.wanted, len(w.trace.Samples) > 0
	w.wanted = nil
	if o.Failure == nil && !o.Video.decoded() && !o.Audio.decoded() {
		o.Failure = Failed(FailureUndecodable, "neither picture nor sound could be decoded") // S4
	}
	if o.Failure != nil {
		if tracing {
			w.pass()
		} else {
			w.mediaFailed(event.FailedSegment, o.Failure, o.Began)
		}
		return
	}
	w.learned()
	w.life.Statistics.TotalSegmentsAnalyzed++
	w.life.LastCheck = w.now
	if !tracing {
		w.life.Newest.Analysed = true
		w.mediaBack()
	}
	w.trace.add(judge(segment, o))
	w.trace.Steps++
	if next, ok := w.trace.next(w.life.Conditions, w.window); ok {
		w.wanted = &next
		return
	}
	w.pass()
}

// pass takes the conditions through what was traced and tells what came of it.
func (w *Watcher) pass() {
	thresholds := w.thresholds()
	for _, s := range w.trace.Samples {
		for i, d := range detectors {
			for _, told := range w.life.Conditions[i].pass(thresholds[i], s, s.bad[i]) {
				if _, ok := told.(event.Alert); ok {
					d.count(&w.life.Statistics)
					w.emit(d.alert, told)
				} else {
					w.emit(d.recovered, told)
				}
			}
		}
	}
	w.trace = trace{}
}

func (w *Watcher) thresholds() (t [len(detectors)]time.Duration) {
	for i, d := range detectors {
		t[i] = d.threshold(w.rules)
	}
	return t
}

// mediaFailed opens or prolongs an outage of a stream that has started. A URL
// that is no longer good has the manifest resolved again at once (decision S7).
func (w *Watcher) mediaFailed(failure string, f *Failure, since time.Time) {
	w.life.Blind.LastErr = f.Error()
	if !w.monitoring() {
		return
	}
	w.life.Outage.fail(w.now, since, failure, f.Error())
	if f.Kind == FailureExpired {
		w.life.Asking.Urgent = true
	}
	w.note(true, "The stream's media could not be read", map[string]any{
		"failure": failure, "error": f.Error(), "failures": w.life.Outage.Failures,
	})
}

// provenLive tells the outage if, at a moment at which the stream was proven
// to be live, it had lasted long enough (section 6.6, decision S6).
func (w *Watcher) provenLive(at time.Time) {
	if w.life.Outage.due(at) {
		w.emit(event.SegmentError, w.life.Outage.tell(w.now))
	}
}

// mediaBack ends an outage. One that was long enough to be told, but could not
// be judged, is told now: media that flow again are the proof that the stream
// was live (decision S6).
func (w *Watcher) mediaBack() {
	if !w.life.Outage.open() {
		return
	}
	w.provenLive(w.now)
	if w.life.Outage.long(w.now) {
		for i := range w.life.Conditions {
			w.life.Conditions[i].interrupt()
		}
	}
	w.note(false, "The stream's media are back", map[string]any{"outage_sec": w.now.Sub(w.life.Outage.Since).Seconds()})
	w.life.Outage = outage{}
}

func (t Track) decoded() bool { return t.Present && t.To > t.From }
