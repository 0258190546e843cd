package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// manifest is what the feeds were found with.
type manifest struct {
	Since   time.Time `json:"since,omitzero"`
	List    string    `json:"list,omitempty"`    // URL of a renewed manifest that has yet to be read
	Again   bool      `json:"again,omitempty"`   // the one before was found a moment earlier
	Nesting int       `json:"nesting,omitempty"` // lists of renditions that led to the feeds, beyond the resolver's
	Avoid   []quality `json:"avoid,omitempty"`   // renditions that went on failing after their URLs were renewed
}

// adopt takes the manifest that a resolution found, if there is need of one:
// none yet, an outage, or one so old that it will expire (decision S7).
func (w *Watcher) adopt(o Resolution) {
	m := &w.life.Manifest
	if w.located() && !w.outage() && w.now.Before(m.Since.Add(renewAfter)) {
		return
	}
	if !o.located() {
		w.nowhere(NewFailure(FailureNetwork, "%s", o.nowhere()))
		return
	}
	w.avoid(o)
	choices := []choice{{Rendition{URL: o.Manifest}, bothTracks}}
	switch {
	case len(o.Renditions) > 0:
		choices = choose(o.Renditions, w.rules.Prefer, m.Avoid)
		if len(choices) == 0 {
			w.nowhere(nothingToWatch())
			return
		}
	case w.located():
		choices = nil // until the list has been read the feeds go on
	}
	*m = manifest{Since: w.now, Again: w.now.Before(m.Since.Add(renewPause)), Avoid: m.Avoid}
	if choices == nil {
		m.List = o.Manifest
		return
	}
	w.take(choices)
}

// take watches these renditions from now on.
func (w *Watcher) take(choices []choice) {
	before := w.life.Feeds
	for _, f := range before {
		w.pass(f)
	}
	w.life.Feeds = w.arrange(before, choices)
	for _, f := range w.life.Feeds {
		if slices.ContainsFunc(before, func(old *feed) bool { return old.URL == f.URL }) {
			continue
		}
		f.switched = true
		// A renewed URL is tried at once; one renewed in vain a moment ago is not,
		// unless it is of another rendition.
		if f.Outage.Failures <= 1 || !w.life.Manifest.Again || f.newExpiry || w.untried(f, before) {
			f.Outage.RetryAt, f.ReadAt = w.now, time.Time{}
		}
		f.untried, f.refused, f.newExpiry = f.refused, false, false
	}
}

// listed takes in what a renewed manifest lists.
func (w *Watcher) listed(o Playlist) {
	m := &w.life.Manifest
	m.List = ""
	choices := []choice{{Rendition{URL: o.URL}, bothTracks}}
	if len(o.Renditions) > 0 {
		m.Nesting++
		choices = choose(o.Renditions, w.rules.Prefer, m.Avoid)
	}
	if o.Failure == nil && len(choices) == 0 {
		o.Failure = nothingToWatch()
	}
	if o.Failure != nil {
		w.note(true, "The stream's renewed manifest could not be read", map[string]any{"error": o.Failure.Error()})
		return
	}
	w.take(choices)
	if len(o.Renditions) == 0 {
		w.read(o)
	}
}

// descend takes the renditions that a feed's URL turned out to list.
func (w *Watcher) descend(f *feed, o Playlist) {
	m := &w.life.Manifest
	if m.Nesting == maxNesting {
		o.Failure = NewFailure(FailureMalformed, "a list of renditions inside a list of renditions")
		w.unreadable(f, o)
		return
	}
	choices := slices.DeleteFunc(choose(o.Renditions, w.rules.Prefer, m.Avoid), func(c choice) bool {
		return c.tracks.and(f.Tracks).none()
	})
	if len(choices) == 0 {
		o.Failure = nothingToWatch()
		w.unreadable(f, o)
		return
	}
	for i := range choices {
		choices[i].tracks = choices[i].tracks.and(f.Tracks)
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
		w.life.Feeds = []*feed{{Tracks: bothTracks}}
	}
	w.life.Blind.LastError = f.Error()
	for _, lost := range w.life.Feeds {
		if lost.failingSince.IsZero() {
			lost.failingSince = w.now
		}
		w.mediaFailed(lost, event.FailedManifest, f, w.now)
	}
}

// forget drops all feeds: the stream is being waited for.
func (w *Watcher) forget() { w.life.Feeds, w.life.Manifest = nil, manifest{} }

func nothingToWatch() *Failure {
	return NewFailure(FailureMalformed, "no rendition carries picture or sound")
}
