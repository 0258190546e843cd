package watch

import "time"

// backoff is a retry policy of section 10.2.
type backoff struct {
	base, max time.Duration
	retries   int
}

var (
	manifestBackoff = backoff{5 * time.Second, 60 * time.Second, 5} // also between questions to is_live (S6)
	segmentBackoff  = backoff{2 * time.Second, 30 * time.Second, 3}
)

// delay is how long to wait after the nth failure in a row, from 1: base,
// doubling up to max.
func (b backoff) delay(n int) time.Duration {
	d := b.base
	for ; n > 1 && d < b.max; n-- {
		d *= 2
	}
	return min(d, b.max)
}

// exhausted tells whether n failures have used up the retries.
func (b backoff) exhausted(n int) bool { return n > b.retries }
