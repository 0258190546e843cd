package channel

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/backoff"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// The intervals at which the page of a channel is read.
const (
	Interval      = 10 * time.Minute
	UsualInterval = 2 * time.Minute // around the hours at which the channel usually starts

	jitterShare     = 0.2 // of an interval, so that channels that were registered at once spread
	aroundUsual     = 45 * time.Minute
	usualStarts     = 2 // that make an hour a usual one
	maxStarts       = 20
	startsCountFor  = 60 * 24 * time.Hour
	seenBetween     = 30 * time.Minute // a stream that is live at once began since the look before, if that is no longer ago
	opinionInterval = time.Hour

	pushedInterval = 30 * time.Second // after a push, for as long as the page does not show the stream
	pushedFor      = 3 * time.Minute
)

// UnreadableAfter is how long a channel cannot be read before that is told.
const UnreadableAfter = time.Hour

var failureBackoff = backoff.Policy{First: time.Minute, Max: Interval}

// PauseOf returns for how long nobody reads any channel after the nth rate limit in a row, from 1 on.
func PauseOf(n int) time.Duration {
	return backoff.Policy{First: time.Minute, Max: 30 * time.Minute}.Delay(n)
}

// next returns when the page is read again. jitter is at random from 0 to less than 1.
func (r Reading) next(now time.Time, jitter float64) time.Time {
	interval := Interval
	switch {
	case r.Failures > 0:
		interval = failureBackoff.Delay(r.Failures)
	case r.usual(now):
		interval = UsualInterval
	}
	return now.Add(time.Duration(float64(interval) * (1 - jitterShare*jitter)))
}

// nextAfter returns when the page is read again after it was read at now.
func (c Channel) nextAfter(now time.Time, jitter float64) time.Time {
	return instant.Earliest(c.Reading.next(now, jitter), c.pushDue())
}

// pushDue returns when the page is read because a start was pushed that it has not shown: a push comes before. Zero: none was.
func (c Channel) pushDue() time.Time {
	again := c.Reading.ReadAt.Add(pushedInterval)
	shown := slices.ContainsFunc(c.Streams, func(f Found) bool { return f.State == Live && f.SeenAt.Equal(c.Reading.ReadAt) })
	switch {
	case c.PushedAt.After(c.Reading.ReadAt):
		return c.PushedAt
	case c.PushedAt.IsZero() || shown || again.Sub(c.PushedAt) > pushedFor:
		return time.Time{}
	}
	return again
}

// usual reports whether at least usualStarts of the newest streams began around this time of day.
func (r Reading) usual(now time.Time) bool {
	near := 0
	for _, start := range r.Starts {
		if now.Sub(start) > startsCountFor {
			continue
		}
		apart := now.Sub(start).Abs() % (24 * time.Hour)
		if min(apart, 24*time.Hour-apart) <= aroundUsual {
			near++
		}
	}
	return near >= usualStarts
}

// learn adds the start of a stream that was seen live for the first time. said is the start that is known, zero if none is, and
// lookedBefore when the page was read before.
func (r *Reading) learn(now, said, lookedBefore time.Time) {
	start := now
	switch {
	case !said.IsZero() && now.Sub(said).Abs() < 12*time.Hour:
		start = said
	case lookedBefore.IsZero() || now.Sub(lookedBefore) > seenBetween:
		return // it may have begun long ago
	}
	r.Starts = append([]time.Time{start}, r.Starts...)
	r.Starts = r.Starts[:min(len(r.Starts), maxStarts)]
}

// WantsOpinion reports whether an answer should be compared with that of another lister. An empty one is, unless it is about a
// place, and so is one with streams in an unknown form. That is asked once an hour.
func (c Channel) WantsOpinion(now time.Time, l Listing) bool {
	strange := len(l.Streams) == 0 && c.Address.Place() == ""
	for _, s := range l.Streams {
		strange = strange || s.State == Unclear
	}
	return strange && now.Sub(c.Reading.OpinionAt) >= opinionInterval
}

// WantsLook reports whether a place is read although the official API of its source, which learns late, was asked about it at now.
// broadcast is what is live there by that API; empty: none. It is read if that is new, or contradicts what is not watched yet; when it
// was read long ago, because the API may not know of a start; after a push; and while it cannot be read.
func (c Channel) WantsLook(now time.Time, broadcast string) bool {
	limit := opinionInterval
	if c.Reading.usual(now) {
		limit = Interval
	}
	push := c.pushDue()
	wants := !push.IsZero() && !now.Before(push)
	if broadcast == "" {
		wants = wants || slices.ContainsFunc(c.Streams, func(f Found) bool { return f.Standing == Wanted || f.Standing == Pending })
	} else if at := c.find(c.Address.Place(), broadcast); at < 0 || c.Streams[at].Standing == Pending {
		wants = true // it is new, or a look has missed it
	} else if c.Streams[at].Standing == Over {
		limit = Interval // it is back, or the API does not know yet that it has ended
	}
	return wants || c.Reading.Failures > 0 || now.Sub(c.Reading.ReadAt) >= limit
}

// Unchanged takes that the official API says nothing new of a place at now.
func (c *Channel) Unchanged(now time.Time) {
	c.Decide(now)
	c.Reading.NextAt = instant.Earliest(now.Add(UsualInterval), c.pushDue())
}

// DueForAPI makes a place due again for the official API. That is asked about many at once, also in hours in which
// nothing begins usually.
func (c *Channel) DueForAPI(now time.Time) {
	if c.Reading.Failures == 0 {
		c.Reading.NextAt = instant.Earliest(c.Reading.NextAt, now.Add(UsualInterval))
	}
}

// Merge returns what two answers at the same time say together. The second fills in what the first does not know.
func Merge(first, second Listing) Listing {
	if first.ID != "" && second.ID != "" && first.ID != second.ID {
		return first // it is about another channel
	}
	merged := first
	merged.By += "+" + second.By
	merged.Partial = first.Partial && second.Partial
	for into, from := range map[*string]string{&merged.ID: second.ID, &merged.Handle: second.Handle, &merged.Title: second.Title} {
		if *into == "" {
			*into = from
		}
	}
	merged.Streams = append([]Stream(nil), first.Streams...)
	for _, s := range second.Streams {
		at := -1
		for n, known := range merged.Streams {
			if known.URL == s.URL {
				at = n
			}
		}
		if at < 0 {
			merged.Streams = append(merged.Streams, s)
			continue
		}
		known := &merged.Streams[at]
		if known.State == Unclear {
			known.State = s.State
		}
		if known.ScheduledStart.IsZero() {
			known.ScheduledStart = s.ScheduledStart
		}
		known.MembersOnly = known.MembersOnly || s.MembersOnly
	}
	return merged
}
