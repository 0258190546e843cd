package watch

// Revision returns how often the durable state has changed.
func (w *Watcher) Revision() int { return w.revision }
