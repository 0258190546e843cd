package callback

import (
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// The retry policy of section 4.4 and decision W3.
const (
	// MaxAttempts limits how often a delivery is sent: one attempt and three retries.
	MaxAttempts = 4

	// MaxRetryAfter is the longest Retry-After that is honoured before the fourth attempt; a
	// longer one is cut to it.
	MaxRetryAfter = 60 * time.Second
)

// webhooks has the schedule of attempts. Its first four are those of section 4.4; the others are
// for a monitor that goes on when its callback fails (section 19.5).
var webhooks, _ = notify.ChannelOf(notify.Webhook)

// Decide returns the decision after the latest of the given number of attempts. now is the
// end of the latest attempt, from which the delay before the next one counts. Retry-After
// can lengthen the delay but not shorten it. random is a number from 0 to 1, which
// spreads the attempts of the long schedule.
func Decide(now time.Time, latest delivery.Attempt, attempts int, onFailure monitor.CallbackFailure, random float64) Decision {
	if latest.Accepted() {
		return Decision{Delivered: true}
	}
	onLongSchedule := attempts >= MaxAttempts
	if onLongSchedule && onFailure != monitor.Continue {
		return Decision{Failed: true}
	}
	retryAfter := latest.RetryAfter
	if !onLongSchedule {
		retryAfter = min(retryAfter, MaxRetryAfter)
	}
	next := webhooks.Decide(notify.Attempted{At: now, RoundBeganAt: now, Number: attempts, Class: notify.Retry, RetryAfter: retryAfter}, random)
	if next.Failed {
		return Decision{Failed: true, MonitorGoesOn: true}
	}
	return Decision{RetryAt: next.RetryAt, LongSchedule: onLongSchedule}
}
