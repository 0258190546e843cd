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
