package httpapi

import (
	"crypto/sha256"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/adapters/internal/connlimit"
	"github.com/stream-monitor/stream-monitor/application/monitors"
)

// contextClient is the name under which a gin.Context holds the client that its request was
// counted for.
const contextClient = "client"

// counted counts a request against a rate limit of its client (decision A5, section 12.3):
// its key and its address. Beyond the limit it answers 429. A read of a session counts for that
// session, against monitors.Viewing.
func (a *API) counted(limit monitors.RateLimit) gin.HandlerFunc {
	return func(c *gin.Context) {
		if limit == "" {
			return
		}
		counted, client := limit, a.clientOf(c)
		if s, is := sessionOf(c); is && limit == monitors.Querying {
			counted, client = monitors.Viewing, sha256.Sum256(append([]byte(sessionCookie), s.id[:]...))
		}
		c.Set(contextClient, client)
		wait, err := a.rates.Allow(c.Request.Context(), client, counted)
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
		c.Header(retryAfterHeader, strconv.Itoa(monitors.RetryAfterSeconds(wait)))
	}
}

// clientOf returns the key of an accepted request together with its address, whether the
// request has the key or a session of it.
func (a *API) clientOf(c *gin.Context) monitors.Client {
	key := []byte(keyOfActor(c).ID)
	if len(key) == 0 {
		key = a.keys.root[:] // another API_KEY is another client
	}
	return sha256.Sum256(append(slices.Clip(key), addressOf(c)...))
}

// countedClient returns the client that an earlier handler has counted the request for.
func countedClient(c *gin.Context) monitors.Client {
	value, _ := c.Get(contextClient)
	client, _ := value.(monitors.Client)
	return client
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
