package notify

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/backoff"
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
)

// Decision says what follows from an attempt. Exactly one of Delivered, Failed and RetryAt is set.
type Decision struct {
	Delivered          bool
	Failed             bool
	DisableDestination bool // the destination, too: it does not exist any more
	RetryAt            time.Time
}

// Attempted is an attempt at a delivery.
type Attempted struct {
	At           time.Time     // when it ended
	RoundBeganAt time.Time     // when the first of its attempts was due
	Number       int           // from 1
	Class        FailureClass  // NoFailure: it was accepted
	RetryAfter   time.Duration // what the receiver asked for; 0: it did not ask
}

// Decide returns what follows from an attempt. jitter is a random number from 0 to 1.
func (c Channel) Decide(a Attempted, jitter float64) Decision {
	switch a.Class {
	case NoFailure:
		return Decision{Delivered: true}
	case Rejected:
		return Decision{Failed: true}
	case Gone:
		return Decision{Failed: true, DisableDestination: true}
	case Retry:
	}
	var delay time.Duration
	switch number := max(a.Number, 1); {
	case !c.GetsEvents:
		delay = messageDelays[min(number, len(messageDelays))-1]
	case number > len(eventDelays):
		return Decision{Failed: true}
	default:
		delay = eventDelays[number-1]
		if number+1 >= jitteredFrom {
			delay = time.Duration(float64(delay) * (1 + jitterShare*(2*jitter-1)))
		}
	}
	retryAt := a.At.Add(max(delay, min(a.RetryAfter, MaxRetryAfter)))
	if !c.GetsEvents && retryAt.After(a.RoundBeganAt.Add(messagesEnd)) {
		return Decision{Failed: true}
	}
	return Decision{RetryAt: retryAt}
}

// The limits of a destination's health.
const (
	CircuitFailures = 5                  // in a row open the circuit
	disableAfter    = 5 * 24 * time.Hour // of nothing but failures disable the destination
	throttledPause  = 10 * time.Second   // after a 429 that does not say how long to wait
)

var circuitPauses = backoff.Policy{First: time.Second, Max: time.Minute}

// tooMany is the status of a receiver that works and wants less.
const tooMany = 429

// askedPause returns how long a receiver that answered with a status wants to get nothing; 0:
// it did not ask. retryAfter is what it asked for in words, of which an hour is granted.
func askedPause(status int, retryAfter time.Duration) time.Duration {
	if status == tooMany && retryAfter <= 0 {
		return throttledPause
	}
	return min(retryAfter, MaxRetryAfter)
}

// Health counts the failures of a destination. The zero value is healthy.
type Health struct {
	Failures         int       // in a row
	FailingSince     time.Time // when the first of them came
	CircuitOpenUntil time.Time // no attempt is made before, also because the receiver asked for it; zero: at once
}

// After returns the health after an attempt that ended now, with a status of HTTP and what the
// receiver asked for. One that answers 429 works, and so does one that rejects a message: neither
// is a failure. Any other that asks for a pause gets it, and has failed.
func (h Health) After(now time.Time, class FailureClass, status int, retryAfter time.Duration) Health {
	var until time.Time // what an earlier answer asked for lasts, whatever comes of the attempts beside it
	if !h.CircuitOpen() && h.CircuitOpenUntil.After(now) {
		until = h.CircuitOpenUntil
	}
	if class == NoFailure || class == Rejected {
		return Health{CircuitOpenUntil: until}
	}
	if asked := askedPause(status, retryAfter); asked > 0 {
		until = later(until, now.Add(asked))
	}
	if status == tooMany {
		return Health{CircuitOpenUntil: until}
	}
	h.Failures++
	if h.FailingSince.IsZero() {
		h.FailingSince = now
	}
	if h.CircuitOpenUntil = until; h.CircuitOpen() {
		h.CircuitOpenUntil = later(until, now.Add(circuitPauses.Delay(h.Failures-CircuitFailures+1)))
	}
	return h
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// CircuitOpen reports whether the destination gets only one attempt at a time, after a pause.
func (h Health) CircuitOpen() bool { return h.Failures >= CircuitFailures }

// Disable reports whether the destination has failed for too long, with a reason for people.
func (h Health) Disable(now time.Time) (reason string, ok bool) {
	if !h.CircuitOpen() || now.Sub(h.FailingSince) < disableAfter {
		return "", false
	}
	return "every attempt has failed since " + h.FailingSince.UTC().Format(time.RFC3339), true
}
