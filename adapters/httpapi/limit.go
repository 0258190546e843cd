package httpapi

import (
	"crypto/sha256"
	"net/netip"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/registry"
)

// within takes a request from the client's budget, or answers that there is
// none left (section 12.3).
func (a *API) within(budget registry.RateLimit) gin.HandlerFunc {
	return func(c *gin.Context) {
		wait, err := a.control.Allow(c.Request.Context(), client(c), budget)
		if err == nil {
			return
		}
		c.Abort()
		retryAfter(c, wait)
		a.fail(c, err)
	}
}

// retryAfter sets the header Retry-After, unless there is nothing to wait for.
func retryAfter(c *gin.Context, wait time.Duration) {
	if wait > 0 {
		c.Header(retryAfterHeader, strconv.Itoa(registry.RetryAfterSeconds(wait)))
	}
}

// networkBits is how much of an IPv6 address counts: who has one address has the
// whole /64, and could ask from another each time.
const networkBits = 64

// client is who asks: the key, and the address however it is spelled
// (decision A5), or with IPv6 the network.
func client(c *gin.Context) registry.Client {
	address := c.ClientIP()
	if parsed, err := netip.ParseAddr(address); err == nil {
		parsed = parsed.Unmap()
		address = parsed.String()
		if network, err := parsed.Prefix(networkBits); err == nil { // IPv4 has no 64 bits
			address = network.String()
		}
	}
	return registry.Client(sha256.Sum256(append(keyOf(c), address...)))
}

// keyOf is a digest of the API key that the request came with.
func keyOf(c *gin.Context) []byte {
	key := sha256.Sum256([]byte(c.GetHeader(publicKeyHeader)))
	return key[:]
}
