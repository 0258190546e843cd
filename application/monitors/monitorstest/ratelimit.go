package monitorstest

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
)

// clientLimit is one rate limit of one client.
type clientLimit struct {
	client monitors.Client
	limit  monitors.RateLimit
}

// Allow implements monitors.RateLimitStore. A used-up limit is never restored by time.
func (s *Store) Allow(ctx context.Context, client monitors.Client, limit monitors.RateLimit, perMin int) (wait time.Duration, err error) {
	err = s.transaction(ctx, "Allow", func() error {
		if s.counted == nil {
			s.counted = map[clientLimit]int{}
		}
		if s.counted[clientLimit{client, limit}] >= perMin {
			wait = time.Minute / time.Duration(perMin)
			return nil
		}
		s.counted[clientLimit{client, limit}]++
		return nil
	})
	return wait, err
}

// Refund implements monitors.RateLimitStore.
func (s *Store) Refund(ctx context.Context, client monitors.Client, limit monitors.RateLimit, _ int) error {
	return s.transaction(ctx, "Refund", func() error {
		if s.counted[clientLimit{client, limit}] > 0 {
			s.counted[clientLimit{client, limit}]--
		}
		return nil
	})
}
