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

// retry calls try until it succeeds or ctx is done, with a time limit for each try. It logs
// every failure that it retries as "cannot TASK, will try again".
func retry(ctx context.Context, log *slog.Logger, timeout time.Duration, task string, try func(context.Context) error) error {
	for n := 1; ; n++ {
		err := attempt(ctx, timeout, try)
		if err == nil {
			return nil
		}
		pause := retryBackoff.Delay(n)
		if ctx.Err() == nil {
			log.Warn("cannot "+task+", will try again", "error", err.Error(), "pause_sec", pause.Seconds())
		}
		if !wait.For(ctx, pause) {
			return fmt.Errorf("%s: %w", task, err)
		}
	}
}

// attempt calls try with a time limit; 0: none.
func attempt(ctx context.Context, timeout time.Duration, try func(context.Context) error) error {
	if timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = limited
	}
	return try(ctx)
}
