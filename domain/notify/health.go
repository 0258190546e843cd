package notify

import (
	"math"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/backoff"
	"github.com/stream-monitor/stream-monitor/domain/instant"
)

// The limits of a destination's health.
const (
	circuitFailures = 5                  // in a row open the circuit
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
		until = instant.Latest(until, now.Add(asked))
	}
	if status == tooMany {
		return Health{CircuitOpenUntil: until}
	}
	h.Failures++
	if h.FailingSince.IsZero() {
		h.FailingSince = now
	}
	if h.CircuitOpenUntil = until; h.CircuitOpen() {
		h.CircuitOpenUntil = instant.Latest(until, now.Add(circuitPauses.Delay(h.Failures-circuitFailures+1)))
	}
	return h
}

// CircuitOpen reports whether the destination gets only one attempt at a time, after a pause.
func (h Health) CircuitOpen() bool { return h.Failures >= circuitFailures }

// FailedForDays reports whether the destination has failed for so long that it is disabled.
func (h Health) FailedForDays(now time.Time) bool {
	return h.CircuitOpen() && now.Sub(h.FailingSince) >= disableAfter
}

// MaxPerDestination limits the deliveries that one destination has in flight, over all gateways.
const MaxPerDestination = 4

// Allowance has the requests that the rate limit of a destination left at a time. The zero value
// is full.
type Allowance struct {
	Tokens   float64
	TokensAt time.Time
}

// Allowed returns how many deliveries a destination may get now, beside those in flight. left is
// its allowance now, of which each of them takes one token. opensAt is when it may get one, if
// that is known and it may get none now: it is zero while only a slot is missing.
func (c Channel) Allowed(now time.Time, h Health, a Allowance, inFlight int) (free int, left Allowance, opensAt time.Time) {
	free = MaxPerDestination - inFlight
	if h.CircuitOpen() {
		free = 1 - inFlight
	}
	left = Allowance{Tokens: float64(c.RateLimit.Burst), TokensAt: now}
	if c.RateLimit != (RateLimit{}) {
		if !a.TokensAt.IsZero() {
			left.Tokens = min(left.Tokens, a.Tokens+now.Sub(a.TokensAt).Seconds()/c.RateLimit.Interval.Seconds())
		}
		free = min(free, int(math.Floor(left.Tokens)))
		if left.Tokens < 1 {
			opensAt = now.Add(time.Duration(math.Ceil((1 - left.Tokens) * float64(c.RateLimit.Interval))))
		}
	}
	if h.CircuitOpenUntil.After(now) {
		free, opensAt = 0, instant.Latest(opensAt, h.CircuitOpenUntil)
	}
	return max(0, free), left, opensAt
}
