package watch

// nextMedia is the task of the media lane: that of the feed whose turn it is.
// Of tasks that are due it is the one of the feed whose playlist was read
// longest ago, so that a slow one never starves the other.
func (w *Watcher) nextMedia() (next Task, ok bool) {
	if list := w.life.Manifest.List; list != "" {
		return Task{Kind: TaskPlaylist, At: w.now, URL: list}, true
	}
	var chosen *feed
	for _, f := range w.life.Feeds {
		if f.URL == "" {
			continue
		}
		t := Task{Kind: TaskPlaylist, At: w.readAt(f), URL: f.URL}
		if f.wanted != nil {
			t = Task{Kind: TaskSegment, At: w.now, Segment: *f.wanted}
		}
		first := !ok || t.At.Before(next.At)
		if ok && !t.At.After(w.now) && !next.At.After(w.now) {
			first = f.ReadAt.Before(chosen.ReadAt)
		}
		if first {
			next, chosen, ok = t, f, true
		}
	}
	return next, ok
}
