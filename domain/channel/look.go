package channel

import (
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Read takes what the source says of the channel at now. jitter is at random from 0 to less than 1. An empty answer ends
// nothing, unless it is about a place, and an incomplete one ends nothing by what it lacks.
func (c *Channel) Read(now time.Time, l Listing, jitter float64) []Event {
	if c.SourceID != "" && l.ID != "" && l.ID != c.SourceID {
		return c.Fail(now, Failure{Kind: Unreadable, Detail: fmt.Sprintf("the answer is about the channel %s, not %s", monitor.CleanLine(l.ID), c.SourceID)}, jitter)
	}
	before := c.Reading.ReadAt
	for into, from := range map[*string]string{&c.SourceID: l.ID, &c.Handle: l.Handle, &c.Title: cleanTitle(l.Title)} {
		if from != "" {
			*into = from
		}
	}
	events := c.readable(now)
	c.Reading.ReadAt, c.Reading.By = now, l.By
	type key struct {
		url       monitor.StreamURL
		broadcast string
	}
	seen := map[key]bool{}
	for _, s := range l.Streams {
		if s.URL.Source() != "" && !seen[key{s.URL, s.Broadcast}] {
			seen[key{s.URL, s.Broadcast}] = true
			c.see(now, s, before)
		}
	}
	for n := range c.Streams {
		switch f := &c.Streams[n]; {
		case seen[key{f.URL, f.Broadcast}]:
		case c.Address.Place() != "":
			f.leave()
		case len(seen) > 0:
			f.lack(now, !l.Partial)
		}
	}
	c.Decide(now)
	c.Reading.NextAt = c.nextAfter(now, jitter)
	return events
}

// see takes a stream of a page. before is when the page was read before.
func (c *Channel) see(now time.Time, s Stream, before time.Time) {
	at := c.find(s.URL, s.Broadcast)
	if at < 0 {
		if s.State != Upcoming && s.State != Live {
			return // what has ended was never watched; what has no known mark is invented by nobody
		}
		c.Streams = slices.Insert(c.Streams, 0, Found{URL: s.URL, Broadcast: s.Broadcast, FoundAt: now})
		at = 0
	}
	f := &c.Streams[at]
	if title := cleanTitle(s.Title); title != "" {
		f.Title = title
	}
	f.SeenAt = now
	if s.State == Live && !f.Begun {
		start := s.StartedAt
		if start.IsZero() {
			start = f.ScheduledStart
		}
		c.Reading.learn(now, start, before)
		f.Begun = true
	}
	if f.Doubt == Gone && f.settled() && f.Monitor.Status == monitor.Completed {
		f.Monitor = Watch{} // the broadcast of a place has come back
	}
	switch {
	case s.State == Live:
		f.State, f.AskAt = Live, time.Time{}
	case s.State == Upcoming && f.State != Live: // what was live once may lag on a page
		f.State = Upcoming
	}
	if s.State != Unclear {
		f.MembersOnly = s.MembersOnly
	}
	switch {
	case !s.ScheduledStart.IsZero():
		f.ScheduledStart, f.AskAt = s.ScheduledStart, time.Time{}
	case f.State == Upcoming && f.AskAt.IsZero():
		f.AskAt = now
	}
	switch {
	case s.State == Ended:
		f.doubt(HasEnded)
	case s.State == Unclear:
	case f.MembersOnly && c.Template.Jar == "":
		f.doubt(ForMembers)
	default:
		f.trust()
	}
}

// lack takes a page without the stream. After two of them the resolver is asked, and ends the stream unless it
// contradicts.
func (f *Found) lack(now time.Time, complete bool) {
	if f.Standing == Over || f.Standing == Watched && !f.Monitor.Reserved {
		return // its worker knows better
	}
	f.doubt(Gone)
	f.LackComplete = complete
	if f.Doubts >= looksToEnd && !f.Confirmed {
		f.AskAt = now
	}
}

// leave takes that the place of the stream is without it. A listing of a place comes from a question about the broadcast itself.
func (f *Found) leave() {
	f.doubt(Gone)
	f.Confirmed = f.Doubts >= looksToEnd
}

// Decide sets the standing of each stream, and forgets what is not watched and was not seen for long.
func (c *Channel) Decide(now time.Time) {
	for n := range c.Streams {
		c.Streams[n].decide(now, c.Template.Jar != "")
	}
	kept := 0
	c.Streams = slices.DeleteFunc(c.Streams, func(f Found) bool {
		if f.Standing == Watched {
			return false
		}
		kept++
		return kept > MaxStreams || now.Sub(f.SeenAt) > KeptUnseen
	})
}

// Fail takes that the channel could not be read at now. jitter is at random from 0 to less than 1. The
// streams that are known stay.
func (c *Channel) Fail(now time.Time, f Failure, jitter float64) (events []Event) {
	r := &c.Reading
	if f.Kind == NoStreams { // the channel was read, and has none yet
		events = c.readable(now)
		r.ReadAt = now
		c.Decide(now)
		r.NextAt = c.nextAfter(now, jitter)
		return events
	}
	if r.Failures == 0 {
		r.FailingSince = now
	}
	r.Failures++
	r.LastFailure, r.LastError = f.Kind, monitor.StorableText(monitor.CleanLine(f.Detail), maxTitle)
	if r.UnreadableSince.IsZero() && now.Sub(r.FailingSince) >= UnreadableAfter {
		r.UnreadableSince = r.FailingSince
		events = append(events, c.unreadable(now))
	}
	c.Decide(now)
	r.NextAt = r.next(now, jitter)
	return events
}

// readable takes that the channel was read.
func (c *Channel) readable(now time.Time) (events []Event) {
	if !c.Reading.UnreadableSince.IsZero() {
		events = append(events, c.readableAgain(now))
	}
	c.Reading.Failures, c.Reading.FailingSince, c.Reading.UnreadableSince = 0, time.Time{}, time.Time{}
	c.Reading.LastFailure, c.Reading.LastError = "", ""
	return events
}
