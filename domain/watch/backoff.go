package watch

import "time"

// backoff is a retry policy of section 10.2: after the nth failure in a row,
// from 1, the wait is base, doubling up to max.
type backoff struct{ base, max time.Duration }

var (
	manifestBackoff = backoff{5 * time.Second, 60 * time.Second} // also between questions to is_live (S6)
	segmentBackoff  = backoff{2 * time.Second, 30 * time.Second}
)

// questionRetries is after how many retries the periodic question goes back to
// its cadence. Media are tried for as long as they are watched: what the
// retries of 10.2 lead to, the alert, comes by the clock (6.6).
const questionRetries = 5

func (b backoff) delay(n int) time.Duration {
	d := b.base
	for ; n > 1 && d < b.max; n-- {
		d *= 2
	}
	return min(d, b.max)
}
