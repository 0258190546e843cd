package notify

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// FailureClass says what a failed attempt means for the next one.
type FailureClass string

// The classes of failures.
const (
	NoFailure FailureClass = ""         // no failure
	Retry     FailureClass = "retry"    // it may pass, or a person may repair it: no answer, 401, 403, 404, 408, 429, 5xx
	Rejected  FailureClass = "rejected" // this message is never accepted: 400, 413, 422
	Gone      FailureClass = "gone"     // the destination does not exist any more: 410
)

// ClassOfStatus returns what a status of HTTP means for the next attempt; 0 means no answer.
func ClassOfStatus(status int) FailureClass {
	switch {
	case status >= 200 && status <= 299:
		return NoFailure
	case status == 400, status == 413, status == 422:
		return Rejected
	case status == 410:
		return Gone
	}
	return Retry
}

// The schedules of section 19.4: the delays after the first, second … attempt.
var (
	eventDelays = []time.Duration{
		1 * time.Second, 2 * time.Second, 4 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		1 * time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour,
	}
	messageDelays = []time.Duration{
		2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, // and so on until messagesEnd
	}
)

// MaxRetryAfter is the longest pause that a receiver may ask for.
const MaxRetryAfter = time.Hour

const (
	messagesEnd  = 24 * time.Hour // no attempt at a message is made later
	jitteredFrom = 5              // the first attempt at an event that jitter moves
	jitterShare  = 0.2            // of the delay, to both sides

	callbackAttempts   = 4                // at an event that blocks its callback's queue (decision W3)
	callbackRetryAfter = 60 * time.Second // the longest Retry-After between them
	webhookBlocksFor   = time.Minute      // a failing event blocks its webhook's queue for so long
)

// Policy says how a receiver gets its deliveries, and how attempts at one follow each other. In it
// alone callbacks, webhooks and the channels for people differ.
type Policy struct {
	HasHealth bool // failures count in the Health of a destination: they open its circuit and disable it
	OwnKeys   bool // the keys of the destination sign its events, not those of the gateway
	Numbered  bool // an event carries its sequence at the receiver

	delays     []time.Duration // after the first, second … attempt
	goesOnFor  time.Duration   // the last delay is repeated until the round is so old; 0: after the delays it fails
	retriesAll bool            // a rejection, too, is retried, and disables nothing
	endsQueue  bool            // the monitor ends with the event that fails, and those behind it fail, too

	// An event keeps those behind it waiting for so many attempts, or for so long from its first
	// failure on. Both are 0 for messages, which wait for nothing.
	blocksAttempts int
	blocksFor      time.Duration
}

// Policy returns how destinations of the channel get their deliveries.
func (c Channel) Policy() Policy {
	if c.GetsEvents {
		return Policy{HasHealth: true, OwnKeys: true, Numbered: true, delays: eventDelays, blocksFor: webhookBlocksFor}
	}
	return Policy{HasHealth: true, delays: messageDelays, goesOnFor: messagesEnd}
}

// CallbackPolicy returns how a monitor's callback gets its events. Nothing but the last failure is
// final (decisions W3 and W4, section 19.5). A callback has no Health: its queue waits, or its monitor ends.
func CallbackPolicy(f monitor.CallbackFailure) Policy {
	p := Policy{delays: eventDelays, retriesAll: true, blocksAttempts: callbackAttempts}
	if f != monitor.Continue {
		p.delays, p.endsQueue = eventDelays[:callbackAttempts-1], true
	}
	return p
}

// Attempted is an attempt at a delivery. Its times are of one clock.
type Attempted struct {
	At           time.Time     // when it ended
	RoundBeganAt time.Time     // when the first of its attempts was due
	FailingSince time.Time     // when the first of its attempts failed; zero: none has failed before
	Number       int           // from 1
	Class        FailureClass  // NoFailure: it was accepted
	RetryAfter   time.Duration // what the receiver asked for; 0: it did not ask
}

// Decision says what follows from an attempt. Exactly one of Delivered, Failed and RetryAt is set.
type Decision struct {
	Delivered          bool
	Failed             bool
	DisableDestination bool // the destination does not exist any more
	EndMonitor         bool // its callback has failed for good (decision W4): the events behind fail, too
	RetryAt            time.Time

	// LeavesQueue is set while an event is retried and those behind it do not wait for it any
	// more. The next of them may be sent from NextAt on.
	LeavesQueue bool
	NextAt      time.Time
}

// Decide returns what follows from an attempt. jitter is a random number from 0 to 1.
func (p Policy) Decide(a Attempted, jitter float64) Decision {
	switch {
	case a.Class == NoFailure:
		return Decision{Delivered: true}
	case a.Class == Rejected && !p.retriesAll:
		return Decision{Failed: true}
	case a.Class == Gone && !p.retriesAll:
		return Decision{Failed: true, DisableDestination: true}
	}
	number := max(a.Number, 1)
	if number > len(p.delays) && p.goesOnFor == 0 {
		return Decision{Failed: true, EndMonitor: p.endsQueue}
	}
	delay, longest := p.delays[min(number, len(p.delays))-1], MaxRetryAfter
	if p.goesOnFor == 0 && number+1 >= jitteredFrom {
		delay = time.Duration(float64(delay) * (1 + jitterShare*(2*jitter-1)))
	}
	if number < p.blocksAttempts {
		longest = callbackRetryAfter
	}
	d := Decision{RetryAt: a.At.Add(max(delay, min(a.RetryAfter, longest)))}
	if p.goesOnFor > 0 && d.RetryAt.After(a.RoundBeganAt.Add(p.goesOnFor)) {
		return Decision{Failed: true}
	}
	return p.leaveQueue(d, a)
}

// leaveQueue adds to the decision about a retry whether the events behind it go on waiting.
func (p Policy) leaveQueue(d Decision, a Attempted) Decision {
	switch {
	case p.blocksAttempts > 0 && a.Number >= p.blocksAttempts:
		d.LeavesQueue, d.NextAt = true, a.At
	case p.blocksFor > 0:
		since := a.FailingSince
		if since.IsZero() {
			since = a.At
		}
		if until := since.Add(p.blocksFor); d.RetryAt.After(until) {
			d.LeavesQueue, d.NextAt = true, instant.Latest(until, a.At)
		}
	}
	return d
}
