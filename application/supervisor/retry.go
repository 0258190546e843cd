package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// The pause after the first failure, and the longest one. The longest also bounds
// how late a waiting action runs once the database is back.
const (
	firstBackoff = time.Second
	maxBackoff   = 5 * time.Second
)

// backoff is the pause after the nth failure in a row, from 1: 1, 2, 4, then 5 s.
func backoff(n int) time.Duration {
	return min(firstBackoff<<min(n-1, 10), maxBackoff)
}

// wait blocks for d, or until wake receives. It returns false when ctx is done.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// retryPolicy bounds retry. A zero field is no bound.
type retryPolicy struct {
	attempts int           // how many tries
	within   time.Duration // no more tries when so much time has passed
	timeout  time.Duration // of one try
}

// exchange is the policy of one database exchange that must be done.
var exchange = retryPolicy{timeout: exchangeTimeout}

// retry calls try until it succeeds, the policy is exhausted, or ctx is done. It
// logs every failure that is followed by another try. what completes "cannot".
func retry(ctx context.Context, log *slog.Logger, p retryPolicy, what string, try func(context.Context) error) error {
	start := time.Now()
	for n := 1; ; n++ {
		err := attempt(ctx, p.timeout, try)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, n == p.attempts, p.within > 0 && time.Since(start) >= p.within:
			return fmt.Errorf("%s: %w", what, err)
		}
		log.Warn("cannot "+what+", will try again", "error", err.Error(), "pause_sec", backoff(n).Seconds())
		if !wait(ctx, backoff(n), nil) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}

func attempt(ctx context.Context, timeout time.Duration, try func(context.Context) error) error {
	if timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = limited
	}
	return try(ctx)
}
