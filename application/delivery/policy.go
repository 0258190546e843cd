package delivery

import "time"

// The retry policy of section 4.4 and decision W3.
const (
	// MaxAttempts limits how often a delivery is sent: one attempt and three retries.
	MaxAttempts = 4

	// SendTimeout bounds one attempt (section 4.4).
	SendTimeout = 10 * time.Second

	// MaxRetryAfter is the longest Retry-After that is honoured; a longer one is
	// cut to it.
	MaxRetryAfter = 60 * time.Second

	firstRetryDelay = time.Second // doubled at every retry: 1 s, 2 s, 4 s
)

// Decide returns the decision after the latest of the given number of attempts.
// now is the end of the latest attempt, from which the delay before the next one counts.
// Retry-After can lengthen the delay but not shorten it.
func Decide(now time.Time, latest Attempt, attempts int) Decision {
	switch {
	case latest.Accepted():
		return Decision{Sent: true}
	case attempts >= MaxAttempts:
		return Decision{Failed: true}
	}
	delay := firstRetryDelay << max(attempts-1, 0)
	return Decision{RetryAt: now.Add(max(delay, min(latest.RetryAfter, MaxRetryAfter)))}
}
