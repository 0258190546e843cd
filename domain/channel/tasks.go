package channel

import (
	"encoding/json"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// The pauses between two questions about a stream whose page does not say when it starts.
const (
	shortestAsk = 10 * time.Minute
	longestAsk  = 12 * time.Hour
)

// TaskKind says what is to be done about a stream.
type TaskKind string

// The kinds of tasks.
const (
	Stop   TaskKind = "stop"   // end its reservation: it is gone, over, or for members
	Change TaskKind = "change" // give its monitor another title or start, or none: it has begun
)

// Task is what is to be done about a stream.
type Task struct {
	Kind   TaskKind
	Stream Found
}

// Tasks returns what is to be done about the streams.
func (c Channel) Tasks() (tasks []Task) {
	for _, f := range c.Streams {
		moved := !f.Monitor.Start.IsZero() && !f.ScheduledStart.IsZero() && !f.ScheduledStart.Equal(f.Monitor.Start) && f.State == Upcoming
		switch {
		case f.Standing != Watched:
		case f.settled():
			if f.Monitor.Reserved {
				tasks = append(tasks, Task{Stop, f})
			}
		case moved || f.early() || f.Title != f.Monitor.Title:
			tasks = append(tasks, Task{Change, f})
		}
	}
	return tasks
}

// early reports whether the stream has begun while its monitor waits for the scheduled start without a worker.
func (f Found) early() bool { return f.State == Live && f.Monitor.Reserved }

// Resolved returns the stream after an answer of the resolver, which is asked at AskAt. No answer ends a stream that the
// complete page lacks.
func (c Candidate) Resolved(now time.Time, r watch.Resolution) Found {
	f, hasJar := c.Stream, c.Channel.Template.Jar != ""
	switch r.State {
	case watch.Upcoming:
		f.State = Upcoming
		if !r.ScheduledStart.IsZero() {
			f.ScheduledStart = r.ScheduledStart
		}
		f.there()
	case watch.Live, watch.Offline:
		f.State = Live
		f.there()
	case watch.Ended:
		f.doubt(HasEnded)
		f.Doubts = looksToEnd // an answer about the stream itself, after the look at the page
	case watch.Removed, watch.Private, watch.NotALiveStream:
		f.doubt(Gone)
		f.Confirmed = f.Doubts >= looksToEnd
	case watch.RegionLocked, watch.AgeRestricted:
		f.there()
	case watch.MembersOnly:
		f.MembersOnly = true
		if !hasJar {
			f.doubt(ForMembers)
		}
	default:
		f.Confirmed = f.Doubt == Gone && f.Doubts >= looksToEnd && f.LackComplete
	}
	if f.AskAt = f.nextAsk(now); !r.State.Known() {
		f.AskAt = now.Add(shortestAsk)
	}
	f.decide(now, hasJar)
	return f
}

// there takes that the resolver has found the stream.
func (f *Found) there() {
	if f.Doubt == Gone || f.Doubt == HasEnded {
		f.trust()
	}
}

// nextAsk returns when the resolver is asked again: after half of the time until the start. A change of a near start is
// therefore learned sooner than that of a distant one.
func (f Found) nextAsk(now time.Time) time.Time {
	switch {
	case f.State == Live:
		return time.Time{}
	case f.ScheduledStart.IsZero():
		return now.Add(time.Hour)
	}
	return now.Add(min(max(f.ScheduledStart.Sub(now).Abs()/2, shortestAsk), longestAsk))
}

// Stopped takes that the reservation of a stream was ended for the channel. If the stream comes back, it is registered
// again.
func (c *Channel) Stopped(now time.Time, f Found) {
	if at := c.find(f.URL, f.Broadcast); at >= 0 {
		c.Streams[at].Monitor = Watch{}
		c.Decide(now)
	}
}

// Changes are what a monitor gets anew; nil: it keeps what it has.
type Changes struct {
	Metadata json.RawMessage
	Start    *time.Time // zero: none any more, so that it is watched at once
}

// ChangesOf returns what the monitor m of a stream gets anew. A title or a start that a person has set otherwise stays.
func ChangesOf(f Found, m monitor.Monitor) (ch Changes) {
	if changed, ok := Retitled(m.Metadata, f.Monitor.Title, f.Title); ok {
		ch.Metadata = changed
	}
	has := m.Config.ScheduledStartTime
	switch {
	case has == nil || !has.Equal(f.Monitor.Start):
	case f.early():
		ch.Start = new(time.Time)
	case f.State == Upcoming && !f.ScheduledStart.IsZero() && !has.Equal(f.ScheduledStart):
		ch.Start = &f.ScheduledStart
	}
	return ch
}

// Changed takes that the monitor of a stream has its title and start, or those that a person has set.
func (c *Channel) Changed(f Found) {
	if at := c.find(f.URL, f.Broadcast); at >= 0 {
		f := &c.Streams[at]
		f.Monitor.Title = f.Title
		if !f.ScheduledStart.IsZero() {
			f.Monitor.Start = f.ScheduledStart
		}
	}
}

// Registration is what a stream is registered with.
type Registration struct {
	ChannelID   string
	StreamURL   monitor.StreamURL
	CallbackURL monitor.CallbackURL
	Config      monitor.Config
	Metadata    json.RawMessage
	Labels      monitor.Labels
}

// Registration returns what a wanted stream is registered with. One that is live has no scheduled start: it is not late.
func (c Candidate) Registration() Registration {
	config := c.Channel.Template.Config
	config.CookieJar = c.Channel.Template.Jar
	if c.Stream.State == Upcoming && !c.Stream.ScheduledStart.IsZero() {
		config.ScheduledStartTime = &c.Stream.ScheduledStart
	}
	return Registration{c.Channel.ID, c.Stream.URL, c.Channel.Template.CallbackURL, config, c.Channel.metadataOf(c.Stream), c.Channel.Template.Labels}
}

// Registered returns the stream with the monitor that watches it, and what is told of it. adopted says that a person had
// registered it.
func (c Candidate) Registered(now time.Time, m monitor.Monitor, adopted bool) (Found, []Event) {
	f := c.Stream
	f.Monitor = Watch{
		ID: m.ID, Status: m.Status, Reserved: m.Status == monitor.Waiting && !m.ReservedUntil.IsZero(), Adopted: adopted,
		Title: f.Title, Start: f.ScheduledStart,
	}
	f.Standing, f.Why, f.Detail, f.RetryAt = Watched, "", "", time.Time{}
	return c.told(now, f)
}

// NoRoom returns the stream that waits for room, and what is told of it.
func (c Candidate) NoRoom(now time.Time) (Found, []Event) {
	f := c.Stream
	f.Why, f.Detail = NoRoom, ""
	return c.told(now, f)
}

// Refused returns the stream whose registration was refused, and is tried again.
func (c Candidate) Refused(now time.Time, why string) (Found, []Event) {
	f := c.Stream
	f.Why, f.Detail, f.RetryAt = RegRefused, monitor.StorableText(monitor.CleanLine(why), maxTitle), now.Add(retryAfter)
	return c.told(now, f)
}

// told tells of a stream once.
func (c Candidate) told(now time.Time, f Found) (Found, []Event) {
	if f.Told {
		return f, nil
	}
	f.Told = true
	return f, []Event{c.Channel.found(now, f)}
}
