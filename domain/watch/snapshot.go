package watch

import (
	"encoding/json"
	"fmt"
	"time"
)

// Snapshot is everything a successor needs to go on where this watcher stands
// (decision S11): no second stream.started, no repeated alert, open conditions
// with their onset. It is opaque JSON of a few kilobytes, and holds the
// manifest's signed URL: it is as secret as that.
func (w *Watcher) Snapshot() (json.RawMessage, error) {
	b, err := json.Marshal(w.life)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return b, nil
}

// Restore makes a watcher that goes on from a snapshot at now. An empty
// snapshot is a new start. The time in which nobody watched is no stall, no
// outage and no blindness; the time before it is, and what was open stays open.
func Restore(rules Rules, snapshot json.RawMessage, now time.Time) (*Watcher, error) {
	w := New(rules, now)
	if len(snapshot) == 0 {
		return w, nil
	}
	var l life
	if err := json.Unmarshal(snapshot, &l); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if back := l.At.Sub(now); back > 0 {
		// The successor's clock is behind the one by which the snapshot was made. A
		// clock ahead of it cannot be told from a time in which nobody watched.
		l.shiftClock(-back)
		l.At = now // until then nobody looked, and no time has passed
	}
	l.resume(now, now.Sub(l.At)) // of a snapshot that tells no time: as long as can be
	w.life = l
	return w, nil
}

// resume goes on at now, after a time in which nobody watched, and forgets what a
// snapshot does not hold.
func (l *life) resume(now time.Time, unwatched time.Duration) {
	l.At = now // a successor that dies before it looks has not been away for longer
	l.Asking.Next = now
	for _, f := range l.Feeds {
		f.ReadAt, f.CheckedAt = time.Time{}, time.Time{}
		f.window, f.wanted, f.trace, f.failingSince = nil, nil, trace{}, time.Time{}
		f.Outage.RetryAt, f.Outage.Failures = now, 0 // a URL handed on may be an old one: the backoff is for those found since
		if f.Outage.open() {
			f.Outage.Unwatched = min(f.Outage.Unwatched+unwatched, now.Sub(f.Outage.Since))
		}
		f.Newest.Unwatched = min(f.Newest.Unwatched+unwatched, now.Sub(f.Newest.Moved))
		f.switched = true
		f.refused, f.newExpiry, f.untried = false, false, false
	}
	l.Blind.resume(now, unwatched)
}
