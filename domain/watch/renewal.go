package watch

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// renew has the manifest resolved again at once (decision S7), or, when that
// was done a moment ago, soon. A segment that is refused in spite of it is
// itself missing.
func (w *Watcher) renew(failure string) {
	a := &w.life.Asking
	pause := playlistPause
	if failure == event.FailedSegment {
		pause = renewPause
	}
	at := a.Renewed.Add(pause)
	if at.Before(w.now) {
		at = w.now
	}
	a.RenewAt = earliest(a.RenewAt, at)
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
