package registrytest

import (
	"context"
	"time"

	"github.com/stream-monitor/stream-monitor/application/registry"
)

// purse is one budget of one client.
type purse struct {
	client registry.Client
	budget registry.RateLimit
}

// Allow is control.Limiter's. Its clock stands still: what is spent does not
// come back.
func (s *Store) Allow(ctx context.Context, client registry.Client, budget registry.RateLimit, perMin int) (time.Duration, error) {
	end, err := s.begin(ctx, "Allow")
	if err != nil {
		return 0, err
	}
	defer end()
	if s.spent == nil {
		s.spent = map[purse]int{}
	}
	if s.spent[purse{client, budget}] >= perMin {
		return time.Minute / time.Duration(perMin), nil
	}
	s.spent[purse{client, budget}]++
	return 0, nil
}

// Return implements registry.RateLimiter.
func (s *Store) Return(ctx context.Context, client registry.Client, budget registry.RateLimit, _ int) error {
	end, err := s.begin(ctx, "Return")
	if err != nil {
		return err
	}
	defer end()
	if s.spent[purse{client, budget}] > 0 {
		s.spent[purse{client, budget}]--
	}
	return nil
}
