package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// readAt is when to read a feed's playlist next: when a check is due, at least
// every 30 s (section 5.4), at the moment at which it would have stood still
// for too long, and after a failure when the backoff says so (10.2). A segment
// that fails delays no check of the next one.
func (w *Watcher) readAt(f *feed) time.Time {
	if f.Outage.open() && f.Outage.Failure != event.FailedStalled {
		at := f.Outage.RetryAt
		if f.Outage.Failure == event.FailedSegment {
			at = earliest(at, w.checkAt(f)) // the next segment may be fine
		}
		if due := w.life.Blind.dueAt(); f.ReadAt.Before(due) {
			at = earliest(at, due)
		}
		return at
	}
	if f.ReadAt.IsZero() {
		return w.now
	}
	at := earliest(w.checkAt(f), f.ReadAt.Add(refreshInterval))
	if stalled := f.Newest.stillSince().Add(stallLimit); stalled.After(f.ReadAt) {
		at = earliest(at, stalled)
	}
	return at
}

// checkAt is when the next check of a feed is due: an interval after the last
// one began (section 6.2; if that has passed, at once), or at the first moment
// at which a threshold may have been crossed, whichever is earlier (decision
// S2).
func (w *Watcher) checkAt(f *feed) time.Time {
	if f.CheckedAt.IsZero() {
		return f.ReadAt // the first check is due at once (S12)
	}
	interval := w.rules.Interval
	if w.life.Asking.Claim.pending() {
		interval = min(interval, claimInterval)
	}
	at := f.CheckedAt.Add(interval)
	if f.Outage.open() {
		return at // there is nothing to see
	}
	for _, d := range detectorsOf(f.Tracks) {
		crossing := w.life.Conditions.of(d).crossing(w.rules.threshold(d))
		if crossing.IsZero() {
			continue
		}
		crossing = crossing.Add(f.Clock.Lag)
		if soonest := f.ReadAt.Add(eagerInterval); crossing.Before(soonest) {
			crossing = soonest
		}
		at = earliest(at, crossing)
	}
	return at
}
