package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/backoff"
)

// retryBackoff is the pause between retries. After the database returns, an action waits
// at most 5 s.
var retryBackoff = backoff.Policy{First: time.Second, Max: 5 * time.Second}

// retryPolicy bounds retry. A zero field is no bound.
type retryPolicy struct {
	attempts  int           // how many tries
	totalTime time.Duration // no more tries when so much time has passed
	timeout   time.Duration // of one try
}

// exchangePolicy retries one database exchange without a limit.
var exchangePolicy = retryPolicy{timeout: exchangeTimeout}

// retry calls try until it succeeds, the policy is exhausted, or ctx is done. It logs
// every failure that it retries as "cannot TASK, will try again".
func retry(ctx context.Context, log *slog.Logger, p retryPolicy, task string, try func(context.Context) error) error {
	start := time.Now()
	for n := 1; ; n++ {
		err := attempt(ctx, p.timeout, try)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, n == p.attempts, p.totalTime > 0 && time.Since(start) >= p.totalTime:
			return fmt.Errorf("%s: %w", task, err)
		}
		log.Warn("cannot "+task+", will try again", "error", err.Error(), "pause_sec", retryBackoff.Delay(n).Seconds())
		if !wait.For(ctx, retryBackoff.Delay(n)) {
			return fmt.Errorf("%s: %w", task, err)
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
