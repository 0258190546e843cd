package registry

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Budget is a number of requests that a client has for each minute
// (section 12.3). It may be used at once and then grows back evenly.
type RateLimit string

// The budgets of section 12.3. Stopping a monitor needs none: who has too much
// must be able to have less.
const (
	Creating RateLimit = "create" // registrations and test webhooks; Config.CreatePerMin
	Querying RateLimit = "query"  // reads and redeliveries; Config.QueryPerMin
)

// MaxPerMin is the largest budget: one request a microsecond, and finer no store
// needs to tell times apart.
const MaxPerMin = 60_000_000

// Client tells clients apart: a digest of the API key and the address that it
// is used from (decision A5).
type Client [sha256.Size]byte

// Allow takes one request from a client's budget. When it is used up, wait is
// how long until a request will be taken again, and the error a *monitor.Error
// RateLimitExceeded. A budget without limit is not counted at all.
func (s *Service) Allow(ctx context.Context, client Client, budget RateLimit) (wait time.Duration, err error) {
	perMin, uses := s.cfg.QueryPerMin, "read and redeliver"
	if budget == Creating {
		perMin, uses = s.cfg.CreatePerMin, "register and to test webhooks"
	}
	if perMin == 0 {
		return 0, nil
	}
	wait, err = s.store.Allow(ctx, client, budget, perMin)
	switch {
	case err != nil:
		return 0, fmt.Errorf("count a request: %w", err)
	case wait > 0:
		return wait, monitor.Errorf(monitor.RateLimitExceeded,
			"%d requests a minute are allowed to %s; the next is in %d s", perMin, uses, RetryAfterSeconds(wait))
	}
	return 0, nil
}

// Seconds is a wait as a Retry-After header says it: whole, and never too short.
func RetryAfterSeconds(wait time.Duration) int { return int(math.Ceil(wait.Seconds())) }
