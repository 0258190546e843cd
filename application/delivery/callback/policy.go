package callback

import (
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The retry policy of section 4.4 and decision W3.
const (
	// MaxAttempts limits how often a delivery is sent: one attempt and three retries.
	MaxAttempts = 4

	// MaxRetryAfter is the longest Retry-After that is honoured; a longer one is
	// cut to it.
	MaxRetryAfter = 60 * time.Second

	firstRetryDelay = time.Second // doubled at every retry: 1 s, 2 s, 4 s
)

// longSchedule has the pauses before the attempts after the fourth, for a monitor that goes
// on when its callback fails (section 19.5).
var longSchedule = []time.Duration{
	30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour,
}

// Limits of the long schedule.
const (
	maxLongRetryAfter = time.Hour // the longest Retry-After that is honoured
	jitter            = 0.2       // the largest part by which a pause is shortened or lengthened
)

// Decide returns the decision after the latest of the given number of attempts. now is the
// end of the latest attempt, from which the delay before the next one counts. Retry-After
// can lengthen the delay but not shorten it. random is a number from 0 to 1, which
// spreads the attempts of the long schedule.
func Decide(now time.Time, latest delivery.Attempt, attempts int, onFailure monitor.CallbackFailure, random float64) Decision {
	switch {
	case latest.Accepted():
		return Decision{Delivered: true}
	case attempts < MaxAttempts:
		delay := firstRetryDelay << max(attempts-1, 0)
		return Decision{RetryAt: now.Add(max(delay, min(latest.RetryAfter, MaxRetryAfter)))}
	case onFailure != monitor.Continue:
		return Decision{Failed: true}
	case attempts >= MaxAttempts+len(longSchedule):
		return Decision{Failed: true, MonitorGoesOn: true}
	}
	pause := longSchedule[attempts-MaxAttempts]
	pause += time.Duration((2*random - 1) * jitter * float64(pause))
	return Decision{RetryAt: now.Add(max(pause, min(latest.RetryAfter, maxLongRetryAfter))), LongSchedule: true}
}
