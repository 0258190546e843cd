package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// manifest describes the manifest that led to the present feeds.
type manifest struct {
	AdoptedAt  time.Time `json:"adopted_at,omitzero"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`   // by the server's clock, from when on it refuses the URLs; zero: unknown
	Egress     string    `json:"egress,omitempty"`      // the address to which the URLs are bound (decision O8)
	PendingURL string    `json:"pending_url,omitempty"` // of a renewed manifest that has yet to be read
	Nesting    int       `json:"nesting,omitempty"`     // master playlists that the watch read on the way to the feeds
}

// lived returns how old the URLs of the manifest are.
func (m *manifest) lived(now time.Time) time.Duration { return now.Sub(m.AdoptedAt) }

// renewAt returns from when on a regular answer replaces the manifest (decision S17).
// URLs that are given out for little more than renewBeforeExpiry are left to the server:
// its refusal renews them (decision S7).
func (m *manifest) renewAt() time.Time {
	at := m.AdoptedAt.Add(renewAfter)
	if early := m.ExpiresAt.Add(-renewBeforeExpiry); early.After(m.AdoptedAt.Add(liveCheck)) {
		at = instant.Earliest(at, early)
	}
	return at
}

// adoptManifest takes the manifest of a resolution if the watch needs one. The
// watch needs one before the first feed, in an outage, and from renewAt on.
func (w *Watcher) adoptManifest(o Resolution) {
	m := &w.state.Manifest
	if w.state.Feeds.hasURL() && !w.state.Feeds.inOutage() && w.now.Before(m.renewAt()) {
		return
	}
	if !o.hasMedia() {
		detail := o.Detail
		if detail == "" {
			detail = "the stream is live but its encoder sends nothing"
		}
		w.recordNoManifest(NewFailure(FailureNetwork, "%s", detail))
		return
	}
	if len(o.Renditions) != 1 {
		w.avoidFailing()
	}
	choices := []choice{{Rendition{URL: o.Manifest}, bothTracks}}
	switch {
	case len(o.Renditions) > 0:
		choices = chooseRenditions(o.Renditions, w.rules.Prefer, w.state.Feeds.avoided())
		if len(choices) == 0 {
			w.recordNoManifest(nothingToWatch())
			return
		}
	case w.state.Feeds.hasURL():
		choices = nil // the feeds go on until the manifest has been read
	}
	if m.lived(w.now) >= shortLife {
		for _, f := range w.state.Feeds {
			f.Refusals = 0
		}
	}
	*m = manifest{AdoptedAt: w.now, ExpiresAt: o.Expires, Egress: o.Egress}
	if choices == nil {
		m.PendingURL = o.Manifest
		return
	}
	w.switchTo(choices)
}

// switchTo watches these renditions from now on.
func (w *Watcher) switchTo(choices []choice) {
	before := w.state.Feeds
	for _, f := range before {
		w.applySamples(f)
	}
	w.state.Feeds = before.replace(choices, w.now)
	for _, f := range w.state.Feeds {
		f.Egress = w.state.Manifest.Egress
		if slices.ContainsFunc(before, func(old *mediaFeed) bool { return old.URL == f.URL }) {
			continue
		}
		f.changeURL()
		f.readAtOnce()
		f.Outage.RetryAt = w.now
	}
}

// handleRenewedManifest takes in the reading of a renewed manifest.
func (w *Watcher) handleRenewedManifest(o Playlist) {
	m := &w.state.Manifest
	m.PendingURL = ""
	w.revise()
	choices := []choice{{Rendition{URL: o.URL}, bothTracks}}
	if len(o.Renditions) > 0 {
		m.Nesting++
		choices = chooseRenditions(o.Renditions, w.rules.Prefer, w.state.Feeds.avoided())
	}
	if o.Failure == nil && len(choices) == 0 {
		o.Failure = nothingToWatch()
	}
	if o.Failure != nil {
		w.logWarn("The stream's renewed manifest could not be read", map[string]any{"error": o.Failure.Error()})
		return
	}
	w.switchTo(choices)
	if len(o.Renditions) == 0 {
		w.handlePlaylist(o)
	}
}

// replaceByRenditions replaces a feed whose URL turned out to be a master playlist
// by feeds of its renditions.
func (w *Watcher) replaceByRenditions(f *mediaFeed, o Playlist) {
	m := &w.state.Manifest
	if m.Nesting == maxNesting {
		o.Failure = NewFailure(FailureMalformed, "a list of renditions inside a list of renditions")
		w.handlePlaylistFailure(f, o)
		return
	}
	choices := slices.DeleteFunc(chooseRenditions(o.Renditions, w.rules.Prefer, w.state.Feeds.avoided()), func(c choice) bool {
		return !c.tracks.overlaps(f.Tracks)
	})
	if len(choices) == 0 {
		o.Failure = nothingToWatch()
		w.handlePlaylistFailure(f, o)
		return
	}
	for i := range choices {
		choices[i].tracks = choices[i].tracks.and(f.Tracks)
	}
	m.Nesting++
	w.revise()
	at := slices.Index(w.state.Feeds, f)
	w.state.Feeds = slices.Replace(w.state.Feeds, at, at+1, mediaFeeds{f}.replace(choices, w.now)...)
}

// logDefect logs what was odd about an entry of a playlist, once for each kind of defect.
func (w *Watcher) logDefect(defect string) {
	if defect == "" || len(w.state.Defects) == maxDefects || slices.Contains(w.state.Defects, defect) {
		return
	}
	w.state.Defects = append(w.state.Defects, defect)
	w.revise()
	w.logWarn("An entry of the stream's manifest is odd; it is left out or repaired, and the rest is used", map[string]any{"defect": defect})
}

// recordNoManifest records that a live stream has no manifest. Feeds that have a
// URL go on.
func (w *Watcher) recordNoManifest(failure *Failure) {
	if w.state.Feeds.hasURL() {
		return
	}
	if len(w.state.Feeds) == 0 && w.state.monitoring() {
		w.state.Feeds = mediaFeeds{{Tracks: bothTracks}}
	}
	w.state.Blind.LastError = failure.Error()
	for _, f := range w.state.Feeds {
		f.failReading(w.now)
		w.handleMediaFailure(f, event.FailedManifest, failure, w.now)
	}
}

// dropMedia forgets all media, because the stream has not started.
func (s *state) dropMedia() { s.Feeds, s.Manifest = nil, manifest{} }

// avoidFailing avoids the renditions that failed again under a renewed URL, so that another
// one is chosen until their outage ends.
func (w *Watcher) avoidFailing() {
	for _, f := range w.state.Feeds {
		o, q := &f.Outage, f.Quality
		failedAgain := o.open() && w.state.Manifest.AdoptedAt.After(o.Since) && o.FailedAt.After(w.state.Manifest.AdoptedAt)
		if !failedAgain || q == (quality{}) || len(o.Avoided) == maxAvoided || slices.Contains(o.Avoided, q) {
			continue
		}
		o.Avoided = append(slices.Clip(o.Avoided), q) // another feed's outage may share it
		w.logWarn("A rendition goes on failing; another is tried if there is one", map[string]any{
			"height": q.Height, "bandwidth": q.Bandwidth, "has_video": q.HasVideo, "has_audio": q.HasAudio,
		})
	}
}

func nothingToWatch() *Failure {
	return NewFailure(FailureMalformed, "no rendition carries picture or sound")
}
