package channel

import (
	"cmp"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The rules of what is watched.
const (
	Horizon    = 48 * time.Hour   // a stream that starts later waits: "free chat" rooms never start
	MaxOverdue = 6 * time.Hour    // a stream whose start has passed for longer when it is found has been given up
	looksToEnd = 2                // looks in a row that say that a stream is gone or over
	retryAfter = 10 * time.Minute // after a refused registration
)

// Standing says what becomes of a stream that was found.
type Standing string

// The standings of a stream.
const (
	Pending Standing = "pending" // it is not registered yet: Why says what is missing
	Wanted  Standing = "wanted"  // it is registered as soon as that is possible
	Watched Standing = "watched" // a monitor watches it, or is reserved for it
	Skipped Standing = "skipped" // it is not watched: Why says why
	Over    Standing = "over"    // it has ended, or is gone
)

// Why is the reason of a Standing.
type Why string

// The reasons of standings; empty: the Standing says all.
const (
	BeyondHorizon Why = "beyond_horizon"  // it starts in more than Horizon
	StartUnknown  Why = "start_unknown"   // nobody has said yet when it starts
	NoRoom        Why = "no_room"         // as many monitors are active as may be: it waits for room
	RegRefused    Why = "refused"         // the registration was refused; Detail says why
	ForMembers    Why = "members_only"    // the channel has no jar of cookies
	Overdue       Why = "overdue"         // its start had passed for more than MaxOverdue when it was found
	StoppedByHand Why = "stopped_by_hand" // a person has stopped its monitor
	HasEnded      Why = "ended"
	Gone          Why = "gone"           // it was deleted, or made private
	MonitorFailed Why = "monitor_failed" // its monitor ended with an error; Detail has the reason
)

// Found is a stream of a channel that was seen on its page.
type Found struct {
	URL            monitor.StreamURL `json:"stream_url"`
	Broadcast      string            `json:"broadcast"` // as that of a Stream; together they identify it
	Title          string            `json:"title"`
	State          State             `json:"state"` // that was learned last; never Unclear
	MembersOnly    bool              `json:"members_only,omitempty"`
	ScheduledStart time.Time         `json:"scheduled_start,omitzero"` // zero: not known
	FoundAt        time.Time         `json:"found_at"`
	SeenAt         time.Time         `json:"seen_at"` // on the page

	Begun   bool      `json:"begun,omitempty"`   // it was live on the page, and its start was learned
	AskAt   time.Time `json:"ask_at,omitzero"`   // when the resolver is asked about it; zero: it need not be
	RetryAt time.Time `json:"retry_at,omitzero"` // when a refused registration is tried again; zero: at once

	// Doubt is what the newest looks say against the stream: Gone, HasEnded or ForMembers; empty: nothing. Doubts counts
	// them in a row. LackComplete says whether the newest page without it was complete, Confirmed that the resolver
	// does not contradict.
	Doubt        Why  `json:"doubt,omitempty"`
	Doubts       int  `json:"doubts,omitempty"`
	LackComplete bool `json:"lack_complete,omitempty"`
	Confirmed    bool `json:"confirmed,omitempty"`

	Standing Standing `json:"standing"`
	Why      Why      `json:"why,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	Told     bool     `json:"told,omitempty"` // channel.stream_found was made

	Monitor Watch `json:"monitor"` // without ID: there is none
}

// Watch is the monitor of a stream that was found.
type Watch struct {
	ID        monitor.ID     `json:"id,omitempty"`
	Status    monitor.Status `json:"-"`
	Reason    string         `json:"-"`                 // why Status is error
	Reserved  bool           `json:"-"`                 // it has never had a worker
	Broadcast string         `json:"-"`                 // that it watches; empty: not known yet, or there is one only
	Adopted   bool           `json:"adopted,omitempty"` // a person had registered it

	// Title and Start are those that the channel knew when it made, adopted or changed the monitor last. Values
	// that a person has set stay.
	Title string    `json:"title,omitempty"`
	Start time.Time `json:"start,omitzero"`
}

// startsAt orders streams by their start. One that is live has started at the latest when it was found.
func (f Found) startsAt() time.Time {
	if f.State == Live && (f.ScheduledStart.IsZero() || f.ScheduledStart.After(f.FoundAt)) {
		return f.FoundAt
	}
	return f.ScheduledStart
}

// live orders those that are live before all others.
func (f Found) live() int {
	if f.State == Live {
		return 0
	}
	return 1
}

// Candidate is a stream that is wanted, and its channel.
type Candidate struct {
	Channel Channel // without Streams
	Stream  Found
	Active  Watch // the monitor that watches its URL already, so that it needs no room; without ID: there is none
}

// Waits reports whether the place of the stream is watched for another broadcast. The end of that monitor makes room for
// this one.
func (c Candidate) Waits() bool {
	return c.Active.Broadcast != "" && c.Stream.Broadcast != "" && c.Active.Broadcast != c.Stream.Broadcast
}

// Taken reports whether a person has reserved the place of the stream for a later broadcast.
func (c Candidate) Taken() bool { return c.Channel.Address.Place() != "" && c.Active.Reserved }

// Compare orders candidates: those that are live, then by their start.
func Compare(a, b Candidate) int {
	return cmp.Or(cmp.Compare(a.Stream.live(), b.Stream.live()), a.Stream.startsAt().Compare(b.Stream.startsAt()), cmp.Compare(a.Stream.URL, b.Stream.URL), cmp.Compare(a.Stream.Broadcast, b.Stream.Broadcast))
}

// doubt adds a look that says something against the stream.
func (f *Found) doubt(why Why) {
	if f.Doubt != why {
		f.Doubt, f.Doubts, f.Confirmed = why, 0, false
	}
	f.Doubts = min(f.Doubts+1, looksToEnd)
}

// trust forgets what was said against the stream.
func (f *Found) trust() { f.Doubt, f.Doubts, f.LackComplete, f.Confirmed = "", 0, false, false }

// settled reports whether enough looks agree.
func (f Found) settled() bool {
	return f.Doubts >= looksToEnd && (f.Doubt != Gone || f.Confirmed)
}

// workerFailures are the reasons of monitors that say nothing of their streams: those are registered again.
var workerFailures = []string{event.ReasonWorkerLost, event.ReasonLaunchFailed, event.ReasonMismatch}

// decide sets the Standing of a stream.
func (f *Found) decide(now time.Time, hasJar bool) {
	if f.Monitor.Status == monitor.Failed && slices.Contains(workerFailures, f.Monitor.Reason) {
		f.Monitor, f.RetryAt = Watch{}, now.Add(retryAfter)
	}
	if f.Broadcast != "" && f.Monitor.Broadcast != "" && f.Monitor.Broadcast != f.Broadcast {
		f.Monitor = Watch{} // it came too late for this broadcast, and watches the next one
	}
	before := *f
	f.Detail = ""
	set := func(s Standing, why Why) { f.Standing, f.Why = s, why }
	switch status := f.Monitor.Status; {
	case f.Monitor.ID != "" && status.Active():
		set(Watched, "")
		return
	case f.Monitor.ID != "" && status == monitor.Stopped:
		set(Skipped, StoppedByHand)
		return
	case f.Monitor.ID != "" && status == monitor.Failed:
		set(Over, MonitorFailed)
		f.Detail = f.Monitor.Reason
		return
	case f.Monitor.ID != "":
		set(Over, HasEnded)
		return
	}
	switch overdue := f.ScheduledStart.Add(MaxOverdue); {
	case f.MembersOnly && !hasJar:
		set(Skipped, ForMembers)
	case f.settled() && f.Doubt != ForMembers:
		set(Over, f.Doubt)
	case f.Doubt == Gone || f.Doubt == HasEnded:
		set(Pending, f.Doubt)
	case f.State == Live:
		set(Wanted, "")
	case f.ScheduledStart.IsZero():
		set(Pending, StartUnknown)
	case f.ScheduledStart.After(now.Add(Horizon)):
		set(Pending, BeyondHorizon)
	case overdue.Before(now) && before.Standing != Wanted:
		set(Skipped, Overdue)
	default:
		set(Wanted, "")
	}
	if f.Standing == Wanted && before.Standing == Wanted {
		f.Why, f.Detail = before.Why, before.Detail
	}
	if f.Standing == Over || f.Standing == Skipped && f.Why != Overdue {
		f.AskAt = time.Time{} // no answer would change anything
	}
}
