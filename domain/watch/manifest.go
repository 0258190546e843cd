package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// manifest describes the manifest that led to the present feeds.
type manifest struct {
	AdoptedAt         time.Time `json:"adopted_at,omitzero"`
	ExpiresAt         time.Time `json:"expires_at,omitzero"`           // by the server's clock, from when on it refuses the URLs; zero: unknown
	Egress            string    `json:"egress,omitempty"`              // the address to which the URLs are bound (decision O8)
	PendingURL        string    `json:"pending_url,omitempty"`         // of a renewed manifest that has yet to be read
	SoonAfterPrevious bool      `json:"soon_after_previous,omitempty"` // the previous manifest was adopted less than renewPause before this one
	Nesting           int       `json:"nesting,omitempty"`             // master playlists that the watch read on the way to the feeds
	Avoid             []quality `json:"avoid,omitempty"`               // renditions that failed again after their URLs were renewed
}

// renewAt returns from when on a regular answer replaces the manifest (decision S17).
// URLs that are given out for little more than renewBeforeExpiry are left to the server:
// its refusal renews them (decision S7).
func (m *manifest) renewAt() time.Time {
	at := m.AdoptedAt.Add(renewAfter)
	if early := m.ExpiresAt.Add(-renewBeforeExpiry); early.After(m.AdoptedAt.Add(liveCheck)) {
		at = earliest(at, early)
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
	m.avoidFailing(w.state.Feeds, o, &w.emitter)
	choices := []choice{{Rendition{URL: o.Manifest}, bothTracks}}
	switch {
	case len(o.Renditions) > 0:
		choices = chooseRenditions(o.Renditions, w.rules.Prefer, m.Avoid)
		if len(choices) == 0 {
			w.recordNoManifest(nothingToWatch())
			return
		}
	case w.state.Feeds.hasURL():
		choices = nil // the feeds go on until the manifest has been read
	}
	*m = manifest{AdoptedAt: w.now, ExpiresAt: o.Expires, Egress: o.Egress, SoonAfterPrevious: w.now.Before(m.AdoptedAt.Add(renewPause)), Avoid: m.Avoid}
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
		f.urlChanged = true
		// The new URL is tried at once, unless the renewal before it was recent and
		// did not help. In that case a rendition that failed again keeps its backoff.
		if f.Outage.Failures <= 1 || !w.state.Manifest.SoonAfterPrevious || f.Served || w.state.Manifest.untried(f.Quality, before) {
			f.Outage.RetryAt, f.LastReadAt = w.now, time.Time{}
		}
		f.Served = false
	}
}

// handleRenewedManifest takes in the reading of a renewed manifest.
func (w *Watcher) handleRenewedManifest(o Playlist) {
	m := &w.state.Manifest
	m.PendingURL = ""
	choices := []choice{{Rendition{URL: o.URL}, bothTracks}}
	if len(o.Renditions) > 0 {
		m.Nesting++
		choices = chooseRenditions(o.Renditions, w.rules.Prefer, m.Avoid)
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
	choices := slices.DeleteFunc(chooseRenditions(o.Renditions, w.rules.Prefer, m.Avoid), func(c choice) bool {
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
	at := slices.Index(w.state.Feeds, f)
	w.state.Feeds = slices.Replace(w.state.Feeds, at, at+1, mediaFeeds{f}.replace(choices, w.now)...)
}

// logDefect logs what was odd about an entry of a playlist, once for each kind of defect.
func (w *Watcher) logDefect(defect string) {
	if defect == "" || len(w.state.Defects) == maxDefects || slices.Contains(w.state.Defects, defect) {
		return
	}
	w.state.Defects = append(w.state.Defects, defect)
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
		if f.failingSince.IsZero() {
			f.failingSince = w.now
		}
		w.handleMediaFailure(f, event.FailedManifest, failure, w.now)
	}
}

// dropMedia forgets all media, because the stream has not started.
func (s *state) dropMedia() { s.Feeds, s.Manifest = nil, manifest{} }

// avoidFailing adds the renditions that failed again under a renewed URL to Avoid,
// so that another one is chosen. It clears Avoid when no feed has an outage.
func (m *manifest) avoidFailing(all mediaFeeds, o Resolution, e *emitter) {
	if !all.inOutage() {
		m.Avoid = nil
		return
	}
	for _, f := range all {
		failedAgain := f.Outage.open() && m.AdoptedAt.After(f.Outage.Since) && f.Outage.FailedAt.After(m.AdoptedAt)
		if failedAgain && f.Quality != (quality{}) && len(o.Renditions) != 1 && len(m.Avoid) < maxAvoided && !slices.Contains(m.Avoid, f.Quality) {
			m.Avoid = append(m.Avoid, f.Quality)
			e.logWarn("A rendition goes on failing; another is tried if there is one", map[string]any{
				"height": f.Quality.Height, "bandwidth": f.Quality.Bandwidth, "has_video": f.Quality.HasVideo, "has_audio": f.Quality.HasAudio,
			})
		}
	}
}

// untried reports whether a rendition has not failed in this outage.
func (m *manifest) untried(q quality, before mediaFeeds) bool {
	return !slices.Contains(m.Avoid, q) && !slices.ContainsFunc(before, func(old *mediaFeed) bool { return old.Quality == q })
}

func nothingToWatch() *Failure {
	return NewFailure(FailureMalformed, "no rendition carries picture or sound")
}
