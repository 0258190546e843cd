package watch

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// renew has the manifest resolved again because the URL of f was refused
// (decision S7). It is done at once, but not within playlistPause of the last
// renewal and, if that did not help, a refused segment waits for renewPause: a
// segment that is refused under a renewed URL is missing.
func (w *Watcher) renew(f *feed, failure string) {
	a := &w.life.Asking
	pause := playlistPause
	if failure == event.FailedSegment && !f.RenewalWorked {
		pause = renewPause
	}
	f.refused, f.newExpiry, f.RenewalWorked = true, f.newExpiry && f.refused || f.RenewalWorked, false
	at := a.Renewed.Add(pause)
	if at.Before(w.now) {
		at = w.now
	}
	a.RenewAt = earliest(a.RenewAt, at)
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
