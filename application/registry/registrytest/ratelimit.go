package registrytest

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
)

// clientLimit is one rate limit of one client.
type clientLimit struct {
	client registry.Client
	limit  registry.RateLimit
}

// Allow implements registry.RateLimitStore. A used-up limit is never restored by time.
func (s *Store) Allow(ctx context.Context, client registry.Client, limit registry.RateLimit, perMin int) (time.Duration, error) {
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

// Refund implements registry.RateLimitStore.
func (s *Store) Refund(ctx context.Context, client registry.Client, limit registry.RateLimit, _ int) error {
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
