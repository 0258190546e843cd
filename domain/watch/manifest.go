package watch

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// manifest is what the feeds were found with.
type manifest struct {
	Since      time.Time `json:"since,omitzero"`
	PendingURL string    `json:"list,omitempty"`    // of a renewed manifest that has yet to be read
	Again      bool      `json:"again,omitempty"`   // the one before was found less than segmentRenewPause earlier
	Nesting    int       `json:"nesting,omitempty"` // lists of renditions that led to the feeds, besides the resolver's
	Avoid      []quality `json:"avoid,omitempty"`   // renditions that failed again after their URLs were renewed
}

// adoptManifest takes the manifest of a resolution if one is needed: the first
// one, one in an outage, or one in place of an old one (decision S7).
func (w *Watcher) adoptManifest(o Resolution) {
	m := &w.state.Manifest
	if w.hasURL() && !w.inOutage() && w.now.Before(m.Since.Add(renewAfter)) {
		return
	}
	if !o.hasMedia() {
		detail := o.Detail
		if detail == "" {
			detail = "the stream is live but its encoder sends nothing"
		}
		w.noManifest(NewFailure(FailureNetwork, "%s", detail))
		return
	}
	w.avoidFailing(o)
	choices := []choice{{Rendition{URL: o.Manifest}, bothTracks}}
	switch {
	case len(o.Renditions) > 0:
		choices = chooseRenditions(o.Renditions, w.rules.Prefer, m.Avoid)
		if len(choices) == 0 {
			w.noManifest(nothingToWatch())
			return
		}
	case w.hasURL():
		choices = nil // the feeds go on until the manifest has been read
	}
	*m = manifest{Since: w.now, Again: w.now.Before(m.Since.Add(segmentRenewPause)), Avoid: m.Avoid}
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
	w.state.Feeds = w.replaceFeeds(before, choices)
	for _, f := range w.state.Feeds {
		if slices.ContainsFunc(before, func(old *feed) bool { return old.URL == f.URL }) {
			continue
		}
		f.urlChanged = true
		// A renewed URL is tried at once. One that was renewed without effect a
		// moment ago waits for its backoff, unless it is of another rendition.
		if f.Outage.Failures <= 1 || !w.state.Manifest.Again || f.refusedAfterGoodRenewal || w.isUntriedRendition(f, before) {
			f.Outage.RetryAt, f.LastReadAt = w.now, time.Time{}
		}
		f.untried, f.refused, f.refusedAfterGoodRenewal = f.refused, false, false
	}
}

// readManifest takes in the reading of a renewed manifest.
func (w *Watcher) readManifest(o Playlist) {
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
		w.readPlaylist(o)
	}
}

// selectVariants replaces a feed whose URL turned out to be a master playlist
// by feeds of its renditions.
func (w *Watcher) selectVariants(f *feed, o Playlist) {
	m := &w.state.Manifest
	if m.Nesting == maxNesting {
		o.Failure = NewFailure(FailureMalformed, "a list of renditions inside a list of renditions")
		w.playlistFailed(f, o)
		return
	}
	choices := slices.DeleteFunc(chooseRenditions(o.Renditions, w.rules.Prefer, m.Avoid), func(c choice) bool {
		return !c.tracks.overlaps(f.Tracks)
	})
	if len(choices) == 0 {
		o.Failure = nothingToWatch()
		w.playlistFailed(f, o)
		return
	}
	for i := range choices {
		choices[i].tracks = choices[i].tracks.and(f.Tracks)
	}
	m.Nesting++
	at := slices.Index(w.state.Feeds, f)
	w.state.Feeds = slices.Replace(w.state.Feeds, at, at+1, w.replaceFeeds([]*feed{f}, choices)...)
}

// noManifest records that a live stream has no manifest. Feeds that have a URL
// go on.
func (w *Watcher) noManifest(f *Failure) {
	if w.hasURL() {
		return
	}
	if len(w.state.Feeds) == 0 && w.monitoring() {
		w.state.Feeds = []*feed{{Tracks: bothTracks}}
	}
	w.state.Blind.LastError = f.Error()
	for _, lost := range w.state.Feeds {
		if lost.failingSince.IsZero() {
			lost.failingSince = w.now
		}
		w.mediaFailed(lost, event.FailedManifest, f, w.now)
	}
}

// renew has the manifest resolved again because the URL of f was refused
// (decision S7): at once, but not within playlistRenewPause of the last renewal.
// If that renewal did not help, a refused segment waits for segmentRenewPause,
// because a segment that is refused under a renewed URL is missing.
func (w *Watcher) renew(f *feed, failure string) {
	r := &w.state.Resolve
	pause := playlistRenewPause
	if failure == event.FailedSegment && !f.RenewalWorked {
		pause = segmentRenewPause
	}
	f.refused, f.refusedAfterGoodRenewal, f.RenewalWorked = true, f.refusedAfterGoodRenewal && f.refused || f.RenewalWorked, false
	at := r.Renewed.Add(pause)
	if at.Before(w.now) {
		at = w.now
	}
	r.RenewAt = earliest(r.RenewAt, at)
}

// mediaTried records whether media could be read after a renewal. A renewal has
// worked if the first media tried under the new URL could be read, and none
// under the old one after the refusal.
func (f *feed) mediaTried(ok bool) {
	if ok && f.untried {
		f.RenewalWorked = true
	}
	f.untried, f.refused = false, f.refused && !ok
}

// avoidFailing records renditions that failed again under a renewed URL, so that
// another is watched. Without an outage there is no reason to avoid any.
func (w *Watcher) avoidFailing(o Resolution) {
	m := &w.state.Manifest
	if !w.inOutage() {
		m.Avoid = nil
		return
	}
	for _, f := range w.state.Feeds {
		failedAgain := f.Outage.open() && m.Since.After(f.Outage.Since) && f.Outage.FailedAt.After(m.Since)
		if failedAgain && f.Quality != (quality{}) && len(o.Renditions) != 1 && len(m.Avoid) < maxAvoided && !slices.Contains(m.Avoid, f.Quality) {
			m.Avoid = append(m.Avoid, f.Quality)
			w.logWarn("A rendition goes on failing; another is tried if there is one", map[string]any{
				"height": f.Quality.Height, "bandwidth": f.Quality.Bandwidth, "has_video": f.Quality.HasVideo, "has_audio": f.Quality.HasAudio,
			})
		}
	}
}

// isUntriedRendition reports whether f has a rendition that has not failed in
// this outage.
func (w *Watcher) isUntriedRendition(f *feed, before []*feed) bool {
	return !slices.Contains(w.state.Manifest.Avoid, f.Quality) &&
		!slices.ContainsFunc(before, func(old *feed) bool { return old.Quality == f.Quality })
}

func nothingToWatch() *Failure {
	return NewFailure(FailureMalformed, "no rendition carries picture or sound")
}
