package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// A paused stream is not looked at until Rules.PausedUntil (section 16.9). The pause ends what was open, without an event, because
// nobody sees its end. The state of the stream itself stays known, so that its start is told once. After the pause the watch goes
// on as after a time in which nobody watched: trouble that is there then begins then.

// followPause begins and ends the pause. It reports whether the stream is paused: no observation counts then.
func (w *Watcher) followPause() bool {
	paused := w.now.Before(w.rules.PausedUntil)
	switch {
	case paused && !w.state.Paused:
		w.state.pause(w.now)
		w.revise()
		w.logInfo("The stream is paused: nobody looks at it", map[string]any{"paused_until": w.rules.PausedUntil})
	case !paused && w.state.Paused:
		w.state.endPause(w.now)
		w.revise()
		w.logInfo("The pause has ended; the stream is watched again", nil)
	}
	return paused
}

// pause ends whatever is open or suspected.
func (s *state) pause(now time.Time) {
	s.Paused = true
	s.Conditions, s.Schedule, s.Signalled, s.NoData = conditions{}, schedule{}, signalled{}, noData{}
	s.Resolve = resolveState{NextAt: now, LastBegan: s.Resolve.LastBegan, QuotaWholeAt: s.Resolve.QuotaWholeAt}
	s.Blind = blindness{Since: now, ObservedAt: s.Blind.ObservedAt}
	s.Manifest.PendingURL, s.Manifest.Seeking = "", false
	s.Others.All = nil
	s.Text.Newest, s.Text.NewAt, s.Text.State = identity{}, time.Time{}, ""
	for _, f := range s.Feeds {
		f.Outage, f.Ended = outage{}, false
	}
}

// endPause goes on at now.
func (s *state) endPause(now time.Time) {
	s.Paused = false
	s.Blind.Since = now
	s.resume(now, 0)
	for _, f := range s.Feeds {
		f.Newest.Unwatched = now.Sub(f.Newest.SeenAt)
	}
}

// pauseTask returns the only task of a paused stream.
func (w *Watcher) pauseTask() Task { return Task{Kind: TaskWake, At: w.rules.PausedUntil} }

// givenUpAt returns when a reservation is given up without an answer; zero: never. That is blindLimit after the question that its
// expiry makes due. In a pause that question waits.
func (p planner) givenUpAt() time.Time {
	at := p.expiresAt()
	if at.IsZero() {
		return at
	}
	return instant.Latest(at, p.state.Blind.Since).Add(blindLimit)
}
