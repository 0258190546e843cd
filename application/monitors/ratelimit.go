package monitors

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// RateLimit names a maximum of requests per client and minute (section 12.3). A client
// may send all of them at once. Afterwards a new request becomes possible every
// minute/maximum.
type RateLimit string

// The rate limits of section 12.3. Requests to stop a monitor are not limited, because a
// client with too many monitors must be able to stop some. A refused registration counts
// against Refusing and not against Creating. So mistakes do not delay the corrected
// request.
const (
	Creating RateLimit = "create" // registrations and test webhooks; Config.CreatePerMin
	Querying RateLimit = "query"  // reads and redeliveries; Config.QueryPerMin
	Viewing  RateLimit = "view"   // reads and redeliveries of a dashboard, whose pages consist of many; viewFactor times Config.QueryPerMin
	Refusing RateLimit = "refuse" // refused registrations; Config.CreatePerMin

	Previewing RateLimit = "preview" // previews; Config.CreatePerMin
)

// viewFactor is how many reads of a dashboard count as one.
const viewFactor = 10

// MaxPerMin is the largest rate limit: one request each microsecond.
const MaxPerMin = 60_000_000

// Client identifies a client: a digest of its API key and its address
// (decision A5).
type Client [sha256.Size]byte

// RateLimiter limits the requests of clients. It may be used concurrently.
type RateLimiter struct {
	store        RateLimitStore
	createPerMin int
	queryPerMin  int
}

// Allow counts one request of a client against a rate limit. If the limit is
// exceeded, wait is how long until the next request is allowed, and the error is
// *monitor.Error RateLimitExceeded. A limit of 0 a minute allows everything.
func (l *RateLimiter) Allow(ctx context.Context, client Client, limit RateLimit) (wait time.Duration, err error) {
	perMin, allowed := l.queryPerMin, "requests a minute are allowed to read and redeliver"
	switch limit {
	case Viewing:
		perMin = min(viewFactor*perMin, MaxPerMin)
	case Creating:
		perMin, allowed = l.createPerMin, "requests a minute are allowed to register and to test webhooks"
	case Previewing:
		perMin, allowed = l.createPerMin, "previews a minute are allowed"
	case Refusing:
		perMin, allowed = l.createPerMin, "refused registrations a minute are answered; correct the request first"
	}
	if perMin == 0 {
		return 0, nil
	}
	wait, err = l.store.Allow(ctx, client, limit, perMin)
	switch {
	case err != nil:
		return 0, fmt.Errorf("count a request: %w", err)
	case wait > 0:
		return wait, monitor.Errorf(monitor.RateLimitExceeded, "%d %s; the next is in %d s", perMin, allowed, RetryAfterSeconds(wait))
	}
	return 0, nil
}

// CountRefusal moves a refused registration from the rate limit Creating to Refusing,
// even if the caller has closed its connection. wait and errors are those of Allow.
func (l *RateLimiter) CountRefusal(ctx context.Context, client Client) (wait time.Duration, err error) {
	if l.createPerMin == 0 {
		return 0, nil
	}
	var limited error
	err = settle(ctx, "count a refused registration", func(ctx context.Context) error {
		if err := l.store.Refund(ctx, client, Creating, l.createPerMin); err != nil {
			return err
		}
		wait, limited = l.Allow(ctx, client, Refusing)
		if wait > 0 {
			return nil
		}
		return limited
	})
	if err != nil {
		return 0, err
	}
	return wait, limited
}

// RetryAfterSeconds is a wait in whole seconds, rounded up.
func RetryAfterSeconds(wait time.Duration) int { return int(math.Ceil(wait.Seconds())) }
