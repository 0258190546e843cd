package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
)

// backoff is a retry policy of section 10.2. The wait after the nth failure in a
// row, from 1 on, is base doubled n−1 times, at most max.
type backoff struct{ base, max time.Duration }

var (
	manifestBackoff = backoff{5 * time.Second, 60 * time.Second} // for playlists and for questions (S6)
	segmentBackoff  = backoff{2 * time.Second, 30 * time.Second}
)

// questionRetries is how many retries a question gets while the media flow,
// before it returns to its cadence (section 10.2). Media are tried for as long
// as they are watched, because their alert comes by the clock (section 6.6).
const questionRetries = 5

func (b backoff) delay(n int) time.Duration {
	d := b.base
	for ; n > 1 && d < b.max; n-- {
		d *= 2
	}
	return min(d, b.max)
}

// nextPoll is when to ask again while the stream has not started (section 7.5):
// after 30 s, or 10 s once the scheduled start has passed. A question is not put
// off past the scheduled start, nor past the moment at which the stream is late.
func (r Rules) nextPoll(now time.Time, delayAlerted bool) time.Time {
	if r.ScheduledStart.IsZero() || now.Before(r.ScheduledStart) {
		next := now.Add(pollBeforeStart)
		if start := r.ScheduledStart; start.After(now) && start.Before(next) {
			next = start
		}
		return next
	}
	next := now.Add(pollAfterStart)
	if late := r.ScheduledStart.Add(r.StartTolerance); late.After(now) && late.Before(next) && !delayAlerted {
		next = late
	}
	return next
}

// readAt is when to read a feed's playlist next. A reading is due with each check,
// every 30 s (section 5.4), and when the playlist would have stalled. After a
// failure it waits for the backoff (section 10.2).
func (w *Watcher) readAt(f *feed) time.Time {
	if f.Outage.open() && f.Outage.Failure != event.FailedStalled {
		at := f.Outage.RetryAt
		if f.Outage.Failure == event.FailedSegment {
			at = earliest(at, w.checkAt(f)) // the next segment may be fine
		}
		if due := w.state.Blind.dueAt(); f.LastReadAt.Before(due) {
			at = earliest(at, due)
		}
		return at
	}
	if f.LastReadAt.IsZero() {
		return w.now
	}
	at := earliest(w.checkAt(f), f.LastReadAt.Add(refreshInterval))
	if stalled := f.Newest.unchangedSince().Add(stallLimit); stalled.After(f.LastReadAt) {
		at = earliest(at, stalled)
	}
	return at
}

// checkAt is when the next check of a feed is due, an interval after the last one
// began (section 6.2). It is earlier if a threshold may be crossed before then
// (decision S2). A time that has passed means now.
func (w *Watcher) checkAt(f *feed) time.Time {
	if f.LastCheckedAt.IsZero() {
		return f.LastReadAt // the first check is due at once (S12)
	}
	interval := w.rules.Interval
	if w.state.Resolve.Claim.open() {
		interval = min(interval, claimInterval)
	}
	at := f.LastCheckedAt.Add(interval)
	if f.Outage.open() {
		return at // no condition can be judged
	}
	for _, d := range detectorsOf(f.Tracks) {
		crossing := w.state.Conditions.of(d).thresholdAt(w.rules.threshold(d))
		if crossing.IsZero() {
			continue
		}
		crossing = crossing.Add(f.Clock.Lag)
		if soonest := f.LastReadAt.Add(eagerInterval); crossing.Before(soonest) {
			crossing = soonest
		}
		at = earliest(at, crossing)
	}
	return at
}
