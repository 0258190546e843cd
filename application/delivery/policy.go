package delivery

import "time"

// The retry policy of section 4.4 and decision W3.
const (
	// MaxAttempts is how often a letter is sent in all: once and three retries.
	MaxAttempts = 4

	// SendLimit is how long one attempt may take (section 4.4).
	SendTimeout = 10 * time.Second

	// MaxRetryAfter is the longest Retry-After that is honoured; a longer one
	// is cut to it.
	MaxRetryAfter = 60 * time.Second

	firstRetryDelay = time.Second // doubled at every retry: 1 s, 2 s, 4 s
)

// Decide tells what becomes of a letter that has now been sent attempts times,
// the last time with the answer a. The pause before the next attempt counts
// from now, when the answer was in, and is never shorter than the schedule's:
// a Retry-After can only lengthen it.
func Decide(now time.Time, a Attempt, attempts int) Decision {
	switch {
	case a.Delivered():
		return Decision{Sent: true}
	case attempts >= MaxAttempts:
		return Decision{Failed: true}
	}
	delay := firstRetryDelay << max(attempts-1, 0)
	return Decision{RetryAt: now.Add(max(delay, min(a.RetryAfter, MaxRetryAfter)))}
}
