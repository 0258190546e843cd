package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// readAt is when to read the playlist next: when a check is due, at least
// every 30 s (section 5.4), at the moment at which it would have stood still for too long, and
// after a failure when the backoff says so (10.2).
func (w *Watcher) readAt() time.Time {
	l := &w.life
	if l.Outage.open() && l.Outage.Failure != event.FailedStalled {
		at := l.Outage.RetryAt
		if due := l.Blind.dueAt(); l.ReadAt.Before(due) {
			at = earliest(at, due)
		}
		return at
	}
	if l.ReadAt.IsZero() {
		return w.now
	}
	at := earliest(w.checkAt(), l.ReadAt.Add(refreshInterval))
	if stalled := w.stillSince().Add(stallLimit); stalled.After(l.ReadAt) {
		at = earliest(at, stalled)
	}
	return at
}

// checkAt is when the next check is due: an interval after the last one began
// (section 6.2; if that has passed, at once), or at the first moment at which a threshold
// may have been crossed, whichever is earlier (decision S2).
func (w *Watcher) checkAt() time.Time {
	l := &w.life
	if l.CheckedAt.IsZero() {
		return l.ReadAt // the first check is due at once (S12)
	}
	at := l.CheckedAt.Add(w.rules.Interval)
	if l.Outage.open() {
		return at // there is nothing to see
	}
	thresholds := w.thresholds()
	for i := range l.Conditions {
		crossing := l.Conditions[i].crossing(thresholds[i])
		if crossing.IsZero() {
			continue
		}
		crossing = crossing.Add(l.Clock.Lag)
		if soonest := l.ReadAt.Add(eagerInterval); crossing.Before(soonest) {
			crossing = soonest
		}
		at = earliest(at, crossing)
	}
	return at
}
