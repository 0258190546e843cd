package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// manifest is what the feeds were found with.
type manifest struct {
	Since   time.Time `json:"since,omitzero"`
	Nesting int       `json:"nesting,omitempty"` // lists of renditions that led to the feeds, beyond the resolver's
	Avoid   []quality `json:"avoid,omitempty"`   // renditions that went on failing after their URLs were renewed
}

// nextMedia is the task of the media lane: of those of all feeds the earliest.
func (w *Watcher) nextMedia() (next Task, ok bool) {
	for _, f := range w.life.Feeds {
		var t Task
		switch {
		case f.wanted != nil:
			t = Task{Kind: TaskSegment, At: w.now, Segment: *f.wanted}
		case f.URL != "":
			t = Task{Kind: TaskPlaylist, At: w.readAt(f), URL: f.URL}
		default:
			continue
		}
		if !ok || t.At.Before(next.At) {
			next, ok = t, true
		}
	}
	return next, ok
}

// adopt takes the manifest that a resolution found, if there is need of one:
// none yet, an outage, or one so old that it will expire (decision S7).
func (w *Watcher) adopt(o Resolution) {
	m := &w.life.Manifest
	if w.located() && !w.outage() && w.now.Before(m.Since.Add(renewAfter)) {
		return
	}
	if !o.located() {
		w.nowhere(Failed(FailureNetwork, "%s", o.nowhere()))
		return
	}
	w.avoid(o)
	choices := []choice{{Rendition{URL: o.Manifest}, everything}}
	if len(o.Renditions) > 0 {
		choices = choose(o.Renditions, w.rules.Prefer, m.Avoid)
	}
	if len(choices) == 0 {
		w.nowhere(nothingToWatch())
		return
	}
	for _, f := range w.life.Feeds {
		w.pass(f)
	}
	paused := w.now.Before(m.Since.Add(renewPause))
	before := w.life.Feeds
	w.life.Feeds = w.arrange(before, choices)
	for _, f := range w.life.Feeds {
		if slices.ContainsFunc(before, func(old *feed) bool { return old.URL == f.URL }) {
			continue
		}
		f.switched = true
		// A renewed URL is tried at once; one renewed in vain a moment ago is not,
		// unless it is of another rendition.
		if f.Outage.Failures <= 1 || !paused || w.untried(f, before) {
			f.Outage.RetryAt, f.ReadAt = w.now, time.Time{}
		}
	}
	*m = manifest{Since: w.now, Avoid: m.Avoid}
}

// renew has the manifest resolved again at once (decision S7). A segment that is
// refused although that was done a moment ago is itself missing.
func (w *Watcher) renew(failure string) {
	a := &w.life.Asking
	if failure == event.FailedSegment && w.now.Before(a.Renewed.Add(renewPause)) {
		return
	}
	a.Urgent, a.Renewed = true, w.now
}

// avoid takes note of renditions that failed even with a renewed URL: others
// may be fine. Without an outage there is no reason to avoid any.
func (w *Watcher) avoid(o Resolution) {
	m := &w.life.Manifest
	if !w.outage() {
		m.Avoid = nil
		return
	}
	for _, f := range w.life.Feeds {
		renewedInVain := f.Outage.open() && m.Since.After(f.Outage.Since) && f.Outage.Last.After(m.Since)
		if renewedInVain && f.Quality != (quality{}) && len(o.Renditions) != 1 && len(m.Avoid) < maxAvoided && !slices.Contains(m.Avoid, f.Quality) {
			m.Avoid = append(m.Avoid, f.Quality)
			w.note(true, "A rendition goes on failing; another is tried if there is one", map[string]any{
				"height": f.Quality.Height, "bandwidth": f.Quality.Bandwidth, "has_video": f.Quality.HasVideo, "has_audio": f.Quality.HasAudio,
			})
		}
	}
}

// untried tells whether f is of a rendition that has not failed in this outage.
func (w *Watcher) untried(f *feed, before []*feed) bool {
	return !slices.Contains(w.life.Manifest.Avoid, f.Quality) &&
		!slices.ContainsFunc(before, func(old *feed) bool { return old.Quality == f.Quality })
}

// descend takes the renditions that a feed's URL turned out to list.
func (w *Watcher) descend(f *feed, o Playlist) {
	m := &w.life.Manifest
	if m.Nesting == maxNesting {
		o.Failure = Failed(FailureMalformed, "a list of renditions inside a list of renditions")
		w.unreadable(f, o)
		return
	}
	choices := slices.DeleteFunc(choose(o.Renditions, w.rules.Prefer, m.Avoid), func(c choice) bool {
		_, concerned := c.judges.and(f.Judges)
		return !concerned
	})
	if len(choices) == 0 {
		o.Failure = nothingToWatch()
		w.unreadable(f, o)
		return
	}
	for i := range choices {
		choices[i].judges, _ = choices[i].judges.and(f.Judges)
	}
	m.Nesting++
	at := slices.Index(w.life.Feeds, f)
	w.life.Feeds = slices.Replace(w.life.Feeds, at, at+1, w.arrange([]*feed{f}, choices)...)
}

// nowhere is not to know where the media are. Feeds that are known go on.
func (w *Watcher) nowhere(f *Failure) {
	if w.located() {
		return
	}
	if len(w.life.Feeds) == 0 && w.monitoring() {
		w.life.Feeds = []*feed{{Judges: everything}}
	}
	w.life.Blind.LastErr = f.Error()
	for _, lost := range w.life.Feeds {
		w.mediaFailed(lost, event.FailedManifest, f, w.now)
	}
}

// forget drops all feeds: the stream is being waited for.
func (w *Watcher) forget() { w.life.Feeds, w.life.Manifest = nil, manifest{} }

func nothingToWatch() *Failure {
	return Failed(FailureMalformed, "no rendition carries picture or sound")
}
