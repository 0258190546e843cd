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
func (s *Store) Allow(ctx context.Context, client monitors.Client, limit monitors.RateLimit, perMin int) (time.Duration, error) {
	end, err := s.begin(ctx, "Allow")
	if err != nil {
		return 0, err
	}
	defer end()
	if s.counted == nil {
		s.counted = map[clientLimit]int{}
	}
	if s.counted[clientLimit{client, limit}] >= perMin {
		return time.Minute / time.Duration(perMin), nil
	}
	s.counted[clientLimit{client, limit}]++
	return 0, nil
}

// Refund implements monitors.RateLimitStore.
func (s *Store) Refund(ctx context.Context, client monitors.Client, limit monitors.RateLimit, _ int) error {
	end, err := s.begin(ctx, "Refund")
	if err != nil {
		return err
	}
	defer end()
	if s.counted[clientLimit{client, limit}] > 0 {
		s.counted[clientLimit{client, limit}]--
	}
	return nil
}
