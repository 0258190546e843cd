// Package backoff computes the delays between retries, for every part that retries.
package backoff

import "time"

// Policy is an exponential backoff. The zero value never delays.
type Policy struct {
	First time.Duration // after the first failure in a row
	Max   time.Duration // the longest delay, ≥ First
}

// Delay returns the wait after the nth failure in a row, from 1 on: First, doubled n−1
// times, at most Max.
func (p Policy) Delay(n int) time.Duration {
	d := p.First
	for ; n > 1 && d < p.Max; n-- {
		d *= 2
	}
	return min(d, p.Max)
}
