package watch

import "github.com/stream-monitor/stream-monitor/domain/monitor"

// health is what is known of picture, sound and stream (decision S14). While
// nothing can be seen it is unknown, whatever was seen last.
func (w *Watcher) health() HealthChanged {
	h := HealthChanged{
		Stream: w.life.Stream,
		Health: monitor.Health{Video: monitor.Unknown, Audio: monitor.Unknown, LastCheckAt: w.life.LastCheck},
	}
	if w.life.Blind.Alerted {
		h.Stream = monitor.StreamUnknown
	}
	if w.monitoring() && w.visible(black) {
		h.Health.Video = w.life.Conditions[black].health(detectors[black])
	}
	if w.monitoring() && w.visible(silent) {
		h.Health.Audio = w.life.Conditions[silent].health(detectors[silent])
	}
	return h
}

// visible tells whether what judges a condition has not been out for long.
func (w *Watcher) visible(condition int) bool {
	for _, f := range w.life.Feeds {
		if f.Judges[condition] && (f.Outage.due(w.now) || f.Outage.Alerted) {
			return false
		}
	}
	return true
}
