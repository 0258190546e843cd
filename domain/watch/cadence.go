package watch

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/backoff"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// The retry policies of section 10.2.
var (
	resolveBackoff  = backoff.Policy{First: 5 * time.Second, Max: 60 * time.Second} // for questions about the stream's state
	playlistBackoff = resolveBackoff                                                // section 10.2 has one policy for both (S6)
	segmentBackoff  = backoff.Policy{First: 2 * time.Second, Max: 30 * time.Second}
	renewalBackoff  = backoff.Policy{First: 10 * time.Second, Max: 60 * time.Second} // for questions about URLs that are refused again and again (S7)
)

// questionRetries limits the retries of a question while the media are readable.
// After them the question returns to its cadence (section 10.2). Playlists and
// segments have no such limit: the outage alert depends on time (section 6.6).
const questionRetries = 5

// nextPoll returns when to ask again while the stream has not started (section
// 7.5). It adds 30 s before the scheduled start, and 10 s after it. If the scheduled
// start or the end of its tolerance comes earlier, nextPoll returns that moment.
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

// nextReadAt returns when to read a feed's playlist next. A reading is due with
// each check, every 30 s (section 5.4), and at the moment at which the playlist
// would count as stalled. After a failure it waits for the backoff (section 10.2).
func (p planner) nextReadAt(f *mediaFeed) time.Time {
	if f.Outage.open() && f.Outage.Cause != event.FailedStalled {
		at := f.Outage.RetryAt
		if f.Outage.Cause == event.FailedSegment {
			at = instant.Earliest(at, p.nextCheckAt(f)) // the next segment may be readable
		}
		if limit := p.state.Blind.limitAt(); f.LastReadAt.Before(limit) {
			at = instant.Earliest(at, limit)
		}
		return at
	}
	if f.LastReadAt.IsZero() {
		return p.now
	}
	at := instant.Earliest(p.nextCheckAt(f), f.LastReadAt.Add(refreshInterval))
	if stalled := f.Newest.unchangedSince().Add(stallLimit); stalled.After(f.LastReadAt) {
		at = instant.Earliest(at, stalled)
	}
	return at
}

// nextCheckAt returns when the next check of a feed is due: one CheckInterval
// after the last check began (section 6.2). It returns an earlier time if a
// condition may reach its threshold within that interval (decision S2). While a recovery is
// looked for it is when the next segment appears (decision S18). A time that has passed
// means now.
func (p planner) nextCheckAt(f *mediaFeed) time.Time {
	if f.LastCheckedAt.IsZero() {
		return f.LastReadAt // the first check is due at once (S12)
	}
	interval := p.rules.CheckInterval
	if p.state.Resolve.Claim.open() {
		interval = min(interval, claimInterval)
	}
	at := f.LastCheckedAt.Add(interval)
	if f.Outage.open() {
		return at // no condition can be judged
	}
	for d := range p.rules.running(f.Tracks) {
		if d.JudgesRenditions() {
			continue
		}
		c, threshold := p.state.Conditions.of(d), p.rules.threshold(d)
		if c.looksForRecovery(threshold) {
			at = instant.Earliest(at, f.nextSegmentAt())
			continue
		}
		crossing := c.thresholdAt(threshold)
		if crossing.IsZero() {
			continue
		}
		at = instant.Earliest(at, instant.Latest(crossing.Add(f.Clock.MinLag), f.LastReadAt.Add(minReadInterval)))
	}
	return at
}
