package httpapi

import (
	"crypto/sha256"
	"net/netip"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/adapters/internal/connlimit"
	"github.com/stream-monitor/stream-monitor/application/registry"
)

// rateLimited counts a request against a rate limit of its client (section 12.3).
// Beyond the limit it answers 429. A read of a session counts against registry.Viewing.
func (a *API) rateLimited(limit registry.RateLimit) gin.HandlerFunc {
	return func(c *gin.Context) {
		counted := limit
		if _, is := sessionOf(c); is && limit == registry.Querying {
			counted = registry.Viewing
		}
		wait, err := a.monitors.RateLimiter.Allow(c.Request.Context(), clientOf(c), counted)
		if err == nil {
			return
		}
		c.Abort()
		retryAfter(c, wait)
		a.fail(c, err)
	}
}

// retryAfter sets the header Retry-After if wait is positive.
func retryAfter(c *gin.Context, wait time.Duration) {
	if wait > 0 {
		c.Header(retryAfterHeader, strconv.Itoa(registry.RetryAfterSeconds(wait)))
	}
}

// clientOf identifies the client of a request (decision A5): by its session, else by its
// API key and its address.
func clientOf(c *gin.Context) registry.Client {
	if s, is := sessionOf(c); is {
		return registry.Client(sha256.Sum256(append([]byte(sessionCookie), s.id[:]...)))
	}
	return registry.Client(sha256.Sum256(append(keyOf(c), addressOf(c)...)))
}

// addressOf returns the IPv4 address or the IPv6 network of the client, however the
// address is written.
func addressOf(c *gin.Context) string {
	address := c.ClientIP()
	if parsed, err := netip.ParseAddr(address); err == nil {
		return connlimit.ClientAddress(parsed)
	}
	return address
}

// keyOf returns a digest of the request's API key. All sessions of a key have one.
func keyOf(c *gin.Context) []byte {
	if s, is := sessionOf(c); is && s.keyID != "" {
		key := sha256.Sum256([]byte("session of " + s.keyID))
		return key[:]
	}
	key := sha256.Sum256([]byte(c.GetHeader(publicKeyHeader)))
	return key[:]
}
